"""Print the records of a file as JSON Lines.

    python -m bookmarks.files FILE [FORMAT]

It needs neither settings nor a database, and shows how a file is read to
whoever reports one.
"""

import json
import sys

from . import UnreadableFile, read


def main(path: str, file_format: str | None = None) -> None:
    """Print the records of the file, whose format is guessed if it is None."""
    with open(path, "rb") as file:
        try:
            for record in read(file, file_format, name=path):
                values = {"type": type(record).__name__, **record._asdict()}
                print(json.dumps(values))
        except UnreadableFile as error:
            sys.exit(error.problem)


if __name__ == "__main__":
    main(*sys.argv[1:])
