"""What the page of an owner, such as a user group, shows of its tokens."""

from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any, NamedTuple

from django.contrib.humanize.templatetags.humanize import intcomma
from django.db.models import Model
from django.http import HttpRequest
from django.utils import timezone
from django.utils.html import format_html
from django.utils.translation import gettext

from usergroups.admin_tools.cells import relative_time

from .admin_states import refusals_sentence
from .models import REFUSAL_NOTICE, Token

if TYPE_CHECKING:
    from .admin import TokenAdmin

MAX_READ = 1_000
"""The number of tokens that are read, of which the newest come first."""

MAX_SHOWN = 10
"""The number of active tokens in the table."""


class TokenRow(NamedTuple):
    """The cells of a token, and the labels and addresses of its actions."""

    token: str
    state: str
    expires: str
    last_used: str
    actions: list[tuple[object, str]]


class OwnerTokens(NamedTuple):
    """The tokens of an owner: the number of active ones, the last use, what is
    wrong, and the rows of the table.
    """

    active: str
    last_use: str
    problem: str
    rows: list[TokenRow]


def read_tokens(
    model_admin: "TokenAdmin[Any]", request: HttpRequest, owner: Model
) -> OwnerTokens:
    """Read the tokens of an owner with one query."""
    rows = model_admin.get_queryset(request).filter(
        **{model_admin.model.owner_field: owner}
    )
    tokens = list(rows.select_related(None).order_by("-created_at")[:MAX_READ])
    active = [token for token in tokens if token.is_active]
    number = intcomma(len(active))
    if len(tokens) == MAX_READ:
        number += "+"
    for token in tokens:
        # Do not read the owner of each token.
        setattr(token, token.owner_field, owner)
    return OwnerTokens(
        active=number,
        last_use=last_use(tokens),
        problem=problem(model_admin, tokens),
        rows=[row_of(model_admin, request, token) for token in active[:MAX_SHOWN]],
    )


def row_of(
    model_admin: "TokenAdmin[Any]", request: HttpRequest, token: Any
) -> TokenRow:
    """Return the row of a token, with the actions that the user may perform."""
    actions = []
    for name, label in model_admin.get_buttons(request, token):
        query = {"action": name, "keys": str(token.pk), "page": "owner"}
        actions.append((label, model_admin.url_of_confirmation(query)))
    return TokenRow(
        token=model_admin.link_to(token, model_admin.name_and_hint(token)),
        state=model_admin.badge(token),
        expires=model_admin.expires(token),
        last_used=model_admin.last_used(token),
        actions=actions,
    )


def last_use(tokens: Sequence[Any]) -> str:
    """Return when and from where one of the tokens was last used."""
    used = [token for token in tokens if token.last_used_at is not None]
    if not used:
        return gettext("Never")
    last = max(used, key=lambda token: token.last_used_at)
    time = relative_time(last.last_used_at)
    if not last.last_used_address:
        return time or ""
    text = gettext("{time} from {address}")
    return format_html(text, time=time, address=last.last_used_address)


def problem(model_admin: "TokenAdmin[Any]", tokens: Sequence[Token]) -> str:
    """Return with which token calls were refused last, if it was recently."""

    def refused_at(token: Token) -> datetime:
        return token.last_refused_at or since

    since = timezone.now() - REFUSAL_NOTICE
    last = max(tokens, key=refused_at, default=None)
    if last is None or refused_at(last) <= since:
        return ""
    sentence = refusals_sentence(last)
    return format_html("{}: {}", model_admin.link_to(last), sentence)
