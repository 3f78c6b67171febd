"""What the admin's first page lists because it needs somebody today."""

from collections.abc import Iterator
from datetime import timedelta
from typing import Any, NamedTuple

from django.contrib.admin import AdminSite
from django.contrib.humanize.templatetags.humanize import intcomma
from django.http import HttpRequest
from django.utils import timezone
from django.utils.html import format_html
from django.utils.translation import gettext, ngettext

from bookmarks.imports import REFUSED
from bookmarks.models import AccessToken
from usergroups.admin_tools.cells import relative_time
from usergroups.admin_tools.pages import can_view
from usergroups.admin_tools.paginator import bounded_number, newest_rows
from usergroups.events import Event, Kind
from usergroups.models import ApiToken
from usergroups.tokens.admin_states import refusals_sentence

MAX_LINES = 5  # of each kind

IMPORT_NOTICE = timedelta(days=7)
"""How long an import that refused lines is listed."""


class Line(NamedTuple):
    """A link to what needs somebody, its owner, and why."""

    link: str
    owner: str
    text: str


def lines_for(site: AdminSite, request: HttpRequest) -> list[Line]:
    """Return what needs somebody today, of what the user may view: tokens with
    refused calls, those with the most first, tokens that expire soon, and
    imports that refused lines.
    """
    models = [m for m in (ApiToken, AccessToken) if can_view(site, request, m)]
    admins: list[Any] = [site.get_model_admin(model) for model in models]
    lines: list[Line] = []
    for each in admins:
        tokens = each.get_queryset(request).refused().order_by("-refused_minutes")
        lines += token_lines(each, "refused", tokens)
    for each in admins:
        tokens = each.get_queryset(request).in_state("expiring").order_by("expires_at")
        lines += token_lines(each, "expiring", tokens)
    if can_view(site, request, Event):
        lines += import_lines(site.get_model_admin(Event), request)
    return lines


def token_lines(model_admin: Any, state: str, tokens: Any) -> Iterator[Line]:
    """Yield the lines of the first tokens, and one that links to the list with
    this filter if there are more.
    """
    first = list(tokens[: MAX_LINES + 1])
    for token in first[:MAX_LINES]:
        text = format_html(gettext("Expires {}."), relative_time(token.expires_at))
        if state == "refused":
            text = refusals_sentence(token)
        link = model_admin.link_to(token)
        yield Line(link, model_admin.link_to(token.owner), text)
    if len(first) > MAX_LINES:
        names = {
            "refused": gettext("All {number} {names} with refused calls"),
            "expiring": gettext("All {number} {names} that expire soon"),
        }
        text = names[state].format(
            number=bounded_number(tokens), names=model_admin.opts.verbose_name_plural
        )
        address = f"{model_admin.url_of('changelist')}?state={state}"
        yield Line(format_html('<a href="{}">{}</a>', address, text), "", "")


def import_lines(model_admin: Any, request: HttpRequest) -> Iterator[Line]:
    """Yield the lines of the last imports that refused lines. They are looked
    for among the newest events.
    """
    newest, _is_limited = newest_rows(model_admin.get_queryset(request))
    since = timezone.now() - IMPORT_NOTICE
    imports = newest.filter(kind=Kind.IMPORTED, at__gte=since).exclude(refused_lines="")
    for event in imports.order_by("-pk")[:MAX_LINES]:
        number = event.counts[REFUSED]
        text = ngettext(
            "{number} line of “{file}” was refused {time}.",
            "{number} lines of “{file}” were refused {time}.",
            number,
        )
        yield Line(
            model_admin.link_to(event.user_group),
            str(event.user_group.team),
            format_html(
                text,
                number=intcomma(number),
                file=event.text,
                time=relative_time(event.at),
            ),
        )
