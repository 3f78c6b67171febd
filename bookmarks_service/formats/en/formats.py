"""The 24-hour clock in place of "a.m." and "noon"."""

DATETIME_FORMAT = "N j, Y, H:i"
SHORT_DATETIME_FORMAT = "Y-m-d H:i"
TIME_FORMAT = "H:i"
