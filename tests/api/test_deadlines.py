"""No call works for longer than its time limit."""

import subprocess
import sys
from io import BytesIO

import pytest
from django.test import RequestFactory
from rest_framework.exceptions import ParseError

from tests.clock import Clock
from usergroups.api.parsers import read_chunks
from usergroups.api.requests import APIRequest
from usergroups.api.throttling import Deadline, TimeLimitExceeded

pytestmark = pytest.mark.database_independent


def test_items_end_with_an_error_at_the_deadline():
    received = []

    received += Deadline(4, Clock()).enforce("abc")
    assert received == ["a", "b", "c"]
    with pytest.raises(TimeLimitExceeded):
        received.extend(Deadline(3, Clock()).enforce("abc"))
    assert received == ["a", "b", "c", "a", "b"]


PROFILED = """
import sys

import django

django.setup()
from usergroups.api.throttling import Deadline

with Deadline(60).interrupt():
    pass
sys.setprofile(lambda *args: None)
(lambda: None)()
"""


def test_a_function_can_be_profiled_after_a_block_with_a_deadline():
    """In a process of its own, because the function would never return."""
    subprocess.run([sys.executable, "-c", PROFILED], check=True, timeout=60)


class Trickle(BytesIO):
    """Return one byte at a time, as a slow connection may."""

    def read(self, size=-1):
        return super().read(min(size, 1))


@pytest.fixture(params=["chunked", "of known size"])
def read_slowly(request):
    """Return a function that reads a body of five bytes, one in each second."""

    def read_slowly(seconds):
        request_of_django = RequestFactory().generic("POST", "/", b"whole")
        slow = APIRequest(request_of_django)
        slow.deadline = Deadline(seconds, Clock())
        slow.META = request_of_django.META
        if request.param == "chunked":
            chunked = {"wsgi.input_terminated": True, "wsgi.input": Trickle(b"whole")}
            slow.META = chunked
        else:
            request_of_django._stream = Trickle(b"whole")
        return b"".join(read_chunks(slow, 5))

    return read_slowly


def test_a_body_that_arrives_in_pieces_is_read_completely(read_slowly):
    assert read_slowly(6) == b"whole"


def test_a_body_that_does_not_arrive_in_time_is_refused(read_slowly):
    with pytest.raises(ParseError, match="did not arrive in time"):
        read_slowly(4)
