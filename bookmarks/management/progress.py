"""Show the progress of a command on a terminal, if tqdm is installed."""

import io
from collections.abc import Iterable, Iterator
from typing import Any, BinaryIO, TypeVar

try:
    from tqdm import tqdm
except ImportError:
    tqdm = None

T = TypeVar("T")


def of_items(items: Iterable[T], total: int) -> Iterable[T]:
    """Return the items, and show how many of them have been taken."""
    if tqdm is None:
        return items
    # It shows nothing if standard error is not a terminal.
    shown: Iterable[T] = tqdm(items, total=total, disable=None, leave=False)
    return shown


def of_file(items: Iterable[T], file: BinaryIO) -> Iterator[T]:
    """Yield what is read from a file, and show how far it has been read."""
    if tqdm is None:
        yield from items
        return
    options: dict[str, Any] = {"disable": None, "leave": False}
    size = file.seek(0, io.SEEK_END)
    file.seek(0)
    with tqdm(total=size, unit="B", unit_scale=True, **options) as bar:
        for item in items:
            bar.update(file.tell() - bar.n)
            yield item
