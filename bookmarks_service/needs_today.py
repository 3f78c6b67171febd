"""What the admin's first page lists because it needs somebody today."""

from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Any, NamedTuple

from django.contrib.admin import AdminSite
from django.http import HttpRequest
from django.utils import timezone
from django.utils.html import format_html
from django.utils.text import capfirst

from bookmarks.models import AccessToken
from usergroups.admin_tools.cells import relative_time
from usergroups.admin_tools.pages import can_view
from usergroups.admin_tools.paginator import bounded_number, newest_rows
from usergroups.events import Event, Kind
from usergroups.models import ApiToken
from usergroups.tokens.admin_states import (
    filter_by_state,
    refusals_sentence,
    state_sentence,
)

MAX_LINES = 5  # of each kind

IMPORT_NOTICE = timedelta(days=7)
"""How long an import that refused lines is listed."""


TOKENS = (
    ("refused", "-refused_minutes", refusals_sentence),
    ("expiring", "expires_at", state_sentence),
)
"""The states of tokens that need somebody, in which order they are listed, and
what the list says of each.
"""


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
    lines: list[Line] = []
    for state, order, text in TOKENS:
        for model in (ApiToken, AccessToken):
            if can_view(site, request, model):
                model_admin: Any = site.get_model_admin(model)
                tokens = model_admin.get_queryset(request)
                found = filter_by_state(tokens, state).order_by(order)
                lines += token_lines(model_admin, state, found, text)
    if can_view(site, request, Event):
        lines += import_lines(site.get_model_admin(Event), request)
    return lines


def token_lines(
    model_admin: Any, state: str, tokens: Any, text: Callable[[Any], str]
) -> Iterator[Line]:
    """Yield the lines of the first tokens, and one that links to the list of
    all tokens in this state if there are more.
    """
    first = list(tokens[: MAX_LINES + 1])
    for token in first[:MAX_LINES]:
        link = model_admin.link_to(token)
        yield Line(link, model_admin.link_to(token.owner), text(token))
    if len(first) > MAX_LINES:
        address = f"{model_admin.url_of('changelist')}?state={state}"
        name = capfirst(model_admin.opts.verbose_name_plural)
        number = bounded_number(tokens)
        link = format_html('<a href="{}">{}: {}</a>', address, name, number)
        yield Line(link, "", "")


def import_lines(model_admin: Any, request: HttpRequest) -> Iterator[Line]:
    """Yield the lines of the last imports that refused lines. They are looked
    for among the newest events.
    """
    newest = newest_rows(model_admin.get_queryset(request))
    since = timezone.now() - IMPORT_NOTICE
    imports = newest.filter(kind=Kind.IMPORTED, at__gte=since).exclude(refused_lines="")
    for event in imports.order_by("-pk")[:MAX_LINES]:
        text = format_html(
            "{}, {}", model_admin.description(event), relative_time(event.at)
        )
        group = event.user_group
        yield Line(model_admin.link_to(group), str(group.team), text)
