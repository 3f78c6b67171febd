"""Check the options of the server and its port, with its environment, before it
starts.
"""

import sys
from contextlib import suppress
from socket import create_connection

import click
from granian.cli import cli


def is_used(host: str, port: int) -> bool:
    """Return whether a server listens on the port.

    Granian would share the port with another Granian.
    """
    with suppress(OSError), create_connection((host, port), timeout=1):
        return True
    return False


def main() -> None:
    """End with one line if an option is invalid or the port is used."""
    application = "bookmarks_service.wsgi:application"
    try:
        context = cli.make_context(
            "granian", [application], auto_envvar_prefix="GRANIAN"
        )
    except click.ClickException as error:
        sys.exit(error.format_message())
    options = context.params
    if options["uds"] is None and is_used(options["host"], options["port"]):
        sys.exit(f"Another server uses port {options['port']}.")


if __name__ == "__main__":
    main()
