"""The paths of folders, which are the names of the collections they become."""

import re
from functools import reduce
from hashlib import sha256

SEPARATOR = " / "

# Matches slashes in the name of a folder that could be mistaken for a
# separator.
SLASHES = re.compile(r"(?:^|(?<= ))/+(?= |$)")

MAX_PATH_LENGTH = 1000  # characters
DIGEST_LENGTH = 8  # hexadecimal digits


def path_in_folder(path: str, folder: str) -> str:
    """Return the path of ``folder`` inside the folder with this ``path``.

    A path is the name of a collection. It is empty for the top level.

    Slashes that stand alone as a word get one more slash, so that different
    folders have different paths: the folder ``A / B`` has the path ``A // B``,
    and ``B`` in ``A`` has ``A / B``. The path is shortened to 1,000 characters,
    so that deeply nested folders take little memory.
    """
    return join_paths(path, SLASHES.sub(r"\g<0>/", folder))


def join_paths(path: str, inside: str) -> str:
    """Return the path of what has the path ``inside`` in the folder with this
    ``path``.
    """
    if path and inside:
        inside = path + SEPARATOR + inside
    return shortened(inside or path, MAX_PATH_LENGTH)


def split_path(path: str) -> list[str] | None:
    """Return the names of the folders from which ``path_in_folder`` makes a path.

    The outermost folder is the first. Return None if there are no such names.
    """
    folders = [
        SLASHES.sub(lambda slashes: slashes[0][1:], part)
        for part in path.split(SEPARATOR)
    ]
    if all(folders) and reduce(path_in_folder, folders, "") == path:
        return folders
    return None


def shortened(name: str, length: int) -> str:
    """Return the name, shortened if it has more than ``length`` characters.

    A shortened name ends with a digest of the whole name, so that different
    names remain different.
    """
    if len(name) <= length:
        return name
    digest = sha256(name.encode(errors="surrogatepass")).hexdigest()[:DIGEST_LENGTH]
    beginning = name[: length - DIGEST_LENGTH - 1]
    return f"{beginning}~{digest}"
