"""Files on the disk for the time of a call."""

from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from tempfile import TemporaryFile
from typing import BinaryIO

from django.conf import settings
from rest_framework.exceptions import APIException


class StorageUnavailable(APIException):
    status_code = 503
    default_code = "service_unavailable"
    default_detail = "The server cannot store the file. Try again later."
    wait = 60  # seconds


@contextmanager
def spooled(chunks: Iterable[bytes]) -> Iterator[BinaryIO]:
    """Write the chunks to a temporary file in FILE_UPLOAD_TEMP_DIR, and open it for reading.

    Raises StorageUnavailable if the disk is full or not writable.
    """
    with ExitStack() as stack:
        try:
            file = TemporaryFile(dir=settings.FILE_UPLOAD_TEMP_DIR)  # noqa: SIM115
            stack.callback(_close, file)
            file.writelines(chunks)
            file.seek(0)
        except OSError as error:
            raise StorageUnavailable from error
        yield file


def _close(file: BinaryIO) -> None:
    with suppress(OSError):  # It tries again to write what the disk did not take.
        file.close()
