"""What the page of an owner, such as a user group, shows of its tokens."""

from collections.abc import Sequence
from operator import attrgetter
from typing import TYPE_CHECKING, Any

from django.contrib.humanize.templatetags.humanize import intcomma
from django.db.models import Model
from django.http import HttpRequest
from django.utils import timezone
from django.utils.html import format_html
from django.utils.translation import gettext

from usergroups.admin_tools.cells import relative_time

from .admin_states import refusals_sentence
from .models import REFUSAL_NOTICE

if TYPE_CHECKING:
    from .admin import TokenAdmin
    from .models import Token

MAX_READ = 1_000
"""The number of tokens that are read, of which the newest come first."""

MAX_SHOWN = 10
"""The number of active tokens in the table."""


def read_tokens(
    model_admin: "TokenAdmin[Any]", request: HttpRequest, owner: Model
) -> dict[str, object]:
    """Return what the page shows of the tokens of an owner, which are read
    with one query: the number of active ones, the last use, what is wrong, and
    the rows of the table.
    """
    of_owner = {model_admin.model.owner_field: owner}
    tokens = model_admin.get_queryset(request).filter(**of_owner)
    newest = list(tokens.select_related(None).order_by("-created_at")[:MAX_READ])
    active = [token for token in newest if token.is_active]
    more = "+" if len(newest) == MAX_READ else ""
    return {
        "active": f"{intcomma(len(active))}{more}",
        "last_use": last_use(newest),
        "problem": refused_recently(model_admin, newest),
        "rows": [table_row(model_admin, request, each) for each in active[:MAX_SHOWN]],
        "opts": model_admin.opts,
    }


def table_row(
    model_admin: "TokenAdmin[Any]", request: HttpRequest, token: Any
) -> dict[str, object]:
    """Return the cells of a token, and the labels and addresses of the actions
    that the user may perform.
    """
    actions = []
    for name, label in model_admin.get_buttons(request, token):
        query = {"action": name, "keys": str(token.pk), "page": "owner"}
        actions.append((label, model_admin.url_of_confirmation(query)))
    return {
        "token": model_admin.link_to(token, model_admin.name_and_hint(token)),
        "state": model_admin.state_badge(token),
        "expires": model_admin.expires(token),
        "last_used": model_admin.last_used(token),
        "actions": actions,
    }


def last_use(tokens: Sequence["Token"]) -> str:
    """Return when and from where one of the tokens was last used."""
    used = [token for token in tokens if token.last_used_at is not None]
    if not used:
        return gettext("Never")
    last = max(used, key=attrgetter("last_used_at"))
    time = relative_time(last.last_used_at)
    if not last.last_used_address:
        return time or ""
    text = gettext("{time} from {address}")
    return format_html(text, time=time, address=last.last_used_address)


def refused_recently(model_admin: "TokenAdmin[Any]", tokens: Sequence[Any]) -> str:
    """Return with which token calls were refused last, if it was recently."""
    since = timezone.now() - REFUSAL_NOTICE
    refused = [each for each in tokens if (each.last_refused_at or since) > since]
    if not refused:
        return ""
    last = max(refused, key=attrgetter("last_refused_at"))
    return format_html("{}: {}", model_admin.link_to(last), refusals_sentence(last))
