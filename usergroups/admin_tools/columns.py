"""Cells of lists: badges, dates and times such as "2 hours ago", and the models and addresses to which they link."""

from datetime import datetime
from typing import Any

from django.contrib import admin
from django.http import HttpRequest
from django.urls import reverse
from django.utils import timezone
from django.utils.formats import date_format, localize
from django.utils.html import format_html, format_html_join
from django.utils.timesince import timesince, timeuntil
from django.utils.timezone import localtime
from django.utils.translation import gettext, npgettext_lazy


def admin_of(site: admin.AdminSite, model: Any) -> Any:
    """Return the admin of the model, or None if it is not registered."""
    return site.get_model_admin(model) if site.is_registered(model) else None


def can_view(site: admin.AdminSite, request: HttpRequest, model: Any) -> bool:
    """Return whether the model is registered and the user may view it."""
    model_admin = admin_of(site, model)
    return model_admin is not None and model_admin.has_view_permission(request)


def admin_url(site: admin.AdminSite, opts: Any, page: str, *args: Any) -> str:
    """Return the address of a page, such as ``"changelist"``, of the model with these options."""
    return reverse(f"{site.name}:{opts.app_label}_{opts.model_name}_{page}", args=args)


def joined(*parts: Any) -> str:
    """Return the parts that are not empty in one line."""
    return format_html_join(" · ", "{}", ([part] for part in parts if part))


def two_lines(first: str, second: str) -> str:
    """Return the content of a cell with a secondary line in small type."""
    return format_html('{} <small class="second-line">{}</small>', first, second) if second else first


def badge(kind: str, text: Any) -> str:
    """Return a badge, whose color depends on ``kind``."""
    return format_html('<span class="badge {}">{}</span>', kind, text) if kind else "-"


def time_element(at: datetime, text: str) -> str:
    """Return HTML with the exact time as a tooltip."""
    return format_html('<time datetime="{}" title="{}">{}</time>', at.isoformat(), localize(localtime(at)), text)


def short_date(at: datetime) -> str:
    """Return the content of a cell with a date."""
    return time_element(at, date_format(localtime(at), "DATE_FORMAT"))


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
    """Return HTML such as "in 3 days" or "2 hours ago"."""
    if at is None:
        return None
    if at <= timezone.now():
        text = gettext("%(time)s ago") % {"time": timesince(at, time_strings=TIME_STRINGS, depth=1)}
    else:
        text = gettext("in %(time)s") % {"time": timeuntil(at, time_strings=TIME_STRINGS, depth=1)}
    return time_element(at, text)
