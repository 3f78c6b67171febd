"""Times such as "in 3 days" and "2 hours ago"."""

from datetime import datetime
from typing import Any

from django.utils import timezone
from django.utils.formats import localize
from django.utils.html import format_html
from django.utils.timesince import timesince, timeuntil
from django.utils.translation import gettext, npgettext_lazy

# Django's texts are in the nominative, and many languages need another case after "in" and before "ago".
TIME_STRINGS: Any = {
    "year": npgettext_lazy("in or ago", "%(num)d year", "%(num)d years", "num"),
    "month": npgettext_lazy("in or ago", "%(num)d month", "%(num)d months", "num"),
    "week": npgettext_lazy("in or ago", "%(num)d week", "%(num)d weeks", "num"),
    "day": npgettext_lazy("in or ago", "%(num)d day", "%(num)d days", "num"),
    "hour": npgettext_lazy("in or ago", "%(num)d hour", "%(num)d hours", "num"),
    "minute": npgettext_lazy("in or ago", "%(num)d minute", "%(num)d minutes", "num"),
}


def relative_time(at: datetime | None) -> str | None:
    """Return HTML such as "in 3 days" or "2 hours ago", with the exact time as a tooltip."""
    if at is None:
        return None
    if at <= timezone.now():
        text = gettext("%(time)s ago") % {"time": timesince(at, time_strings=TIME_STRINGS, depth=1)}
    else:
        text = gettext("in %(time)s") % {"time": timeuntil(at, time_strings=TIME_STRINGS, depth=1)}
    exact = localize(timezone.localtime(at))
    return format_html('<time datetime="{}" title="{}">{}</time>', at.isoformat(), exact, text)
