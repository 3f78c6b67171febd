"""Print the records of a file as JSON Lines.

    python -m bookmarks.files FILE [FORMAT]

It needs neither settings nor a database, and shows how a file is read to
whoever reports one.
"""

import json
import sys

from . import UnreadableFile, find_format, open_content, read


def main(path: str, file_format: str = "") -> None:
    """Print the records of the file, whose format is guessed if it is empty."""
    with open(path, "rb") as file:
        try:
            content, name = open_content(file, path)
            file_format = file_format or find_format(name, content)
            for record in read(content, file_format):
                values = {"type": type(record).__name__, **record._asdict()}
                print(json.dumps(values))
        except UnreadableFile as error:
            sys.exit(error.problem)


if __name__ == "__main__":
    main(*sys.argv[1:])
