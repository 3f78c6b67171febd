"""The panels of the admin's index page with tokens that need attention."""

from dataclasses import dataclass, field
from typing import Any

from django.contrib.humanize.templatetags.humanize import intcomma
from django.db.models import Model
from django.http import HttpRequest
from django.utils.translation import gettext

from usergroups.admin_tools.cells import relative_time
from usergroups.admin_tools.paginator import MAX_LISTED, bounded_number

MAX_ROWS = 5  # in each panel


@dataclass
class TokenPanel:
    """The first tokens of a list that need attention."""

    title: str
    tokens: list[tuple[str, Model, str | None]] = field(default_factory=list)
    """A link to each token, its owner and one of its times."""
    url: str = ""
    """The URL of the whole list, if there may be more tokens in it."""
    number: str = ""
    """The number of tokens in the list, if there are more."""
    limit: str = ""
    """The number of tokens that were checked, if there are more."""


def token_panels(
    model_admin: Any, request: HttpRequest, newest: Any, is_limited: bool
) -> list[TokenPanel]:
    """Return the panels of a model's tokens that need attention, because calls
    with them were refused, they expire soon or are not used.

    No index finds those that are not used, so they are looked for among the
    ``newest`` tokens. If ``is_limited``, there are others.
    """
    rows = model_admin.get_queryset(request)
    refused = token_panel(
        model_admin,
        "refused",
        gettext("%(names)s with refused calls in the last 7 days"),
        rows.refused().order_by("-last_refused_at"),
        "last_refused_at",
    )
    expiring = token_panel(
        model_admin,
        "expiring",
        gettext("%(names)s that expire within 14 days"),
        rows.in_state("expiring").order_by("expires_at"),
        "expires_at",
    )
    unused = token_panel(
        model_admin,
        "unused",
        gettext("%(names)s that were not used for 90 days"),
        newest.unused().order_by("pk"),
        "last_used_at",
    )
    if is_limited:
        unused.limit = intcomma(MAX_LISTED)
        unused.url = url_of_state(model_admin, "unused")
    panels = [refused, expiring, unused]
    return [panel for panel in panels if panel.tokens or panel.limit]


def token_panel(
    model_admin: Any, state: str, title: str, tokens: Any, time_field: str
) -> TokenPanel:
    """Return the panel with the first of the tokens, with the time in the
    field ``time_field`` of each.

    ``state`` is the filter of the list that shows all of them.
    """
    panel = TokenPanel(title % {"names": model_admin.opts.verbose_name_plural})
    first = list(tokens[: MAX_ROWS + 1])
    for token in first[:MAX_ROWS]:
        time = relative_time(getattr(token, time_field))
        panel.tokens.append((model_admin.link_to(token), token.owner, time))
    if len(first) > MAX_ROWS:
        panel.number = bounded_number(tokens)
        panel.url = url_of_state(model_admin, state)
    return panel


def url_of_state(model_admin: Any, state: str) -> str:
    """Return the URL of the list of the tokens in this state."""
    return f"{model_admin.url_of('changelist')}?state={state}"
