#!/usr/bin/env python
"""Django's command-line utility for administrative tasks."""

import os
import secrets
import sys
from pathlib import Path
from urllib.parse import quote


def main() -> None:
    """Run the command that the arguments name.

    An invalid setting ends it with one line on standard error.
    """
    # Ctrl-C may interrupt these imports, too.
    from django.core.exceptions import ImproperlyConfigured  # noqa: PLC0415
    from django.core.management import execute_from_command_line  # noqa: PLC0415
    from environs import EnvError  # noqa: PLC0415

    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "bookmarks_service.settings")
    # Commands store nothing that is signed with the key, so a temporary one is
    # enough, except for `check --deploy`, which checks the key. The server of
    # quickstart also uses it, so that operators must log in again after a
    # restart.
    if "--deploy" not in sys.argv and os.environ.get("DEBUG", "0") == "0":
        os.environ["SECRET_KEY"] = os.environ.get(
            "SECRET_KEY"
        ) or secrets.token_urlsafe(48)
    # Only quickstart chooses a database. Its server inherits the variable.
    if sys.argv[1:2] == ["quickstart"]:
        path = Path(__file__).resolve().parent / "db.sqlite3"
        os.environ.setdefault("DATABASE_URL", f"sqlite:///{quote(str(path))}")
    try:
        execute_from_command_line(sys.argv)
    except (ImproperlyConfigured, EnvError) as error:
        sys.exit(str(error))


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        print("Interrupted.", file=sys.stderr)
        sys.exit(130)
