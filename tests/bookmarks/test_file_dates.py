"""The dates that programs write into files of bookmarks."""

from datetime import UTC, datetime, timedelta, timezone

import pytest

from bookmarks.files.records import parse_date

pytestmark = pytest.mark.once

TIME = datetime(2023, 11, 14, 22, 13, 20, tzinfo=UTC)


@pytest.mark.parametrize(
    "value",
    [
        TIME, TIME.astimezone(timezone(timedelta(hours=1))), 1700000000, 1700000000.0, "1700000000", " 1700000000 ",
        "1700000000000", 1700000000000000, "13344473600000000", "2023-11-14T22:13:20Z", "2023-11-14T22:13:20.000Z",
        "2023-11-14T23:13:20+0100", "2023-11-14T17:13:20-05:00", "2023-11-14 22:13:20", "2023-11-14 22:13:20 UTC",
        "2023/11/14 22:13:20",
    ],
    ids=str,
)  # fmt: skip
def test_dates_are_read(value):
    assert parse_date(value) == TIME


@pytest.mark.parametrize(
    ("value", "time"),
    [
        ("2023-11-14", datetime(2023, 11, 14, tzinfo=UTC)),
        ("2023/11/14 22:13", datetime(2023, 11, 14, 22, 13, tzinfo=UTC)),
        (1700000000123, TIME.replace(microsecond=123000)),
        ("1700000000123456", TIME.replace(microsecond=123456)),
        (13344473600123457, TIME.replace(microsecond=123457)),
        ("1700000000.5", TIME.replace(microsecond=500000)),
    ],
)
def test_dates_are_as_exact_as_they_are_written(value, time):
    assert parse_date(value) == time


@pytest.mark.parametrize(
    "value",
    [
        0, "0", "0.0", 1, "86400", "20231114", -1700000000, "-1", True, 1e400, float("nan"), "9" * 17, "9" * 5000,
        "0000-00-00", "0000-00-00 00:00:00", "2023-02-30", "2023-13-01", "14.11.2023", "11/14/2023", "yesterday", "-",
        "2999-01-01", 32503680000, datetime(2999, 1, 1, tzinfo=UTC), "9999-12-31T23:59:59-23:59", [], {},
    ],
)  # fmt: skip
def test_what_stands_for_no_time_in_the_past_is_unusable(value):
    assert parse_date(value) is None
