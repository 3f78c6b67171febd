"""Files on the disk for the time of a call."""

import time
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from tempfile import TemporaryFile
from typing import BinaryIO

from django.conf import settings
from rest_framework.exceptions import APIException

BLOCK_SIZE = 64 * 1024  # bytes
BEGINNING = 1.0  # seconds


class StorageUnavailable(APIException):
    status_code = 503
    default_code = "service_unavailable"
    default_detail = "The server cannot store the file. Try again later."
    wait = 60  # seconds


@contextmanager
def temporary_file() -> Iterator[BinaryIO]:
    """Open a new file without a name in FILE_UPLOAD_TEMP_DIR. Raises StorageUnavailable if that is impossible."""
    with ExitStack() as stack:
        with storing():
            file = TemporaryFile(dir=settings.FILE_UPLOAD_TEMP_DIR)  # noqa: SIM115
        stack.callback(_close, file)
        yield file


@contextmanager
def storing() -> Iterator[None]:
    """Raise StorageUnavailable in place of an OSError, for example if the disk is full."""
    try:
        yield
    except OSError as error:
        raise StorageUnavailable from error


def _close(file: BinaryIO) -> None:
    with suppress(OSError):  # It tries again to write what the disk did not take.
        file.close()


@contextmanager
def spooled(chunks: Iterable[bytes]) -> Iterator[BinaryIO]:
    """Write the chunks to a temporary file, and open it for reading. Raises StorageUnavailable."""
    with temporary_file() as file:
        with storing():
            file.writelines(chunks)
            file.seek(0)
        yield file


def read_ahead(pieces: Iterable[bytes]) -> Iterator[bytes]:
    """Yield the pieces in blocks, and read them at least as long as the consumer takes for the blocks.

    If the consumer is a slow client, the pieces wait in a temporary file. Their source, such as a transaction, is then
    in use for about twice the time that it needs itself, and not as long as the client takes.

    The first block is empty, after one second or at the end of the pieces, so that errors until then can still become a
    response. Raises StorageUnavailable.
    """
    remaining, is_complete = iter(pieces), False
    size = position = 0  # of what the file has, and of what has been yielded
    block, seconds = b"", BEGINNING
    with temporary_file() as file:
        while not is_complete or position < size:
            end, is_complete = time.monotonic() + seconds, True
            for piece in remaining:
                with storing():
                    size += file.write(piece)
                if size - position >= BLOCK_SIZE and time.monotonic() >= end:
                    is_complete = False
                    break
            start = time.monotonic()
            yield block
            seconds = time.monotonic() - start
            with storing():
                file.seek(position)
                block = file.read(BLOCK_SIZE)
                position += len(block)
                if position == size:
                    file.seek(0)
                    file.truncate()
                    size = position = 0
                file.seek(size)
        yield block
