"""What the admin says about the state of a token: a filter of lists, and the
sentences at the top of its page.
"""

from datetime import datetime, timedelta
from typing import Any, TypeVar

from django.contrib import admin
from django.contrib.humanize.templatetags.humanize import intcomma
from django.http import HttpRequest
from django.utils.html import format_html
from django.utils.translation import gettext, ngettext
from django.utils.translation import gettext_lazy as _

from usergroups.admin_tools.cells import relative_time, short_date

from .models import Token, TokenQuerySet, TokenState

T = TypeVar("T", bound=Token)


EXPIRY_PERIODS = {"expires-30": timedelta(days=30), "expires-90": timedelta(days=90)}
"""Filters by state that select, and sort, tokens by their expiry."""


class TokenStateFilter(admin.SimpleListFilter):
    """A filter by the state of tokens, their next expiry and their use."""

    title = _("state")
    parameter_name = "state"

    def lookups(
        self, request: HttpRequest, model_admin: object
    ) -> list[tuple[str, Any]]:
        return [
            *TokenState.choices,
            ("expires-30", _("Expires within 30 days")),
            ("expires-90", _("Expires within 90 days")),
            ("unused", _("Not used for 90 days")),
            ("refused", _("Calls refused in the last 7 days")),
        ]

    def queryset(  # type: ignore[override]
        self, request: HttpRequest, queryset: TokenQuerySet[T]
    ) -> TokenQuerySet[T]:
        return filter_by_state(queryset, self.value())


def filter_by_state(tokens: TokenQuerySet[T], state: str | None) -> TokenQuerySet[T]:
    """Filter tokens by the value of a TokenStateFilter."""
    if state in EXPIRY_PERIODS:
        return tokens.expire_within(EXPIRY_PERIODS[state])
    if state == "unused":
        return tokens.unused()
    if state == "refused":
        return tokens.refused()
    if state in TokenState.values:
        return tokens.in_state(state)
    return tokens


def tokens_of_same_owner(token: Token) -> TokenQuerySet[Any]:
    """Return the tokens with the owner of a token. The owner has an index."""
    tokens: TokenQuerySet[Any] = type(token).objects.for_write()
    return tokens.filter(**{token.owner_field: token.owner})


def state_sentence(token: Token, usage: object = "") -> str:
    """Return what the state of a token means for calls, and who revoked it.

    The page shows it after the name of the state.
    """
    expires = relative_time(token.expires_at)
    match token.state:
        case TokenState.REVOKED:
            revoked = time_and_operator(token.revoked_at, token.revoked_by)
            return format_html(gettext("{}. Calls get 401."), revoked)
        case TokenState.EXPIRED:
            return format_html(gettext("{}. Calls get 401."), expires)
        case TokenState.ROTATED:
            text = gettext("{}, and expires {}. Until then, both tokens work.")
            return format_html(text, relative_time(token.rotated_at), expires)
        case TokenState.EXPIRING:
            return format_html(gettext("Expires {}."), expires)
        case _:
            return format_html(gettext("The token works {}."), usage)


def time_and_operator(at: datetime | None, operator: str) -> str | None:
    """Return when something was done, and by which operator, if it was one."""
    time = relative_time(at)
    if not operator:
        return time
    return format_html(gettext("{time} by {operator}"), time=time, operator=operator)


def refusals_sentence(token: Any) -> str:
    """Return how often calls with a token were refused, since when and why."""
    reason = gettext("token expired")
    if token.revoked_at is not None:
        reason = gettext("token revoked")
    elif token.is_active:
        reason = gettext("sent where another kind of token is used")
    elif token.rotated_at is not None:
        reason = gettext("token replaced")
    text = ngettext(
        "Calls refused in {number} minute since {since} ({reason}), the last {last}.",
        "Calls refused in {number} minutes since {since} ({reason}), the last {last}.",
        token.refused_minutes,
    )
    return format_html(
        text,
        number=intcomma(token.refused_minutes),
        since=short_date(token.first_refused_at),
        reason=reason,
        last=relative_time(token.last_refused_at),
    )
