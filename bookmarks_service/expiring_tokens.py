"""The page of the admin that lists the API tokens and the access tokens that
expire soon.
"""

from datetime import timedelta
from typing import Any, NamedTuple

from django.contrib.admin import AdminSite
from django.contrib.humanize.templatetags.humanize import intcomma
from django.core.exceptions import BadRequest, PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.utils import timezone
from django.utils.text import capfirst
from django.utils.translation import gettext

from bookmarks.models import AccessToken
from usergroups.admin_tools.csv_lists import BYTE_ORDER_MARK, cell
from usergroups.admin_tools.lists import EXCEL_PARAM
from usergroups.admin_tools.pages import can_view
from usergroups.csv_cells import csv_line
from usergroups.models import ApiToken
from usergroups.tokens.models import Token

MODELS: tuple[type[Token], ...] = (ApiToken, AccessToken)

PERIODS = (7, 30, 90)
"""The numbers of days for which the tokens can be listed."""

CSV_COLUMNS = ("Kind", "ID", "Owner", "Token", "State", "Expires", "Last used")

MAX_TOKENS = 500
"""The number of tokens that the page lists."""


class Row(NamedTuple):
    """The cells of the row of a token, as HTML."""

    kind: str
    token: str
    owner: str
    state: str
    expires: str
    last_used: str


def can_view_tokens(site: AdminSite, request: HttpRequest) -> bool:
    """Return whether the user may view tokens of a kind."""
    return any(can_view(site, request, model) for model in MODELS)


def expiring_tokens_page(site: AdminSite, request: HttpRequest) -> HttpResponse:
    """Return the page for the number of days in the query parameter ``days``,
    or a CSV file if there is a parameter ``csv``.
    """
    if not can_view_tokens(site, request):
        raise PermissionDenied
    sent = request.GET.get("days", "30")
    if sent not in map(str, PERIODS):
        raise BadRequest("The number of days must be 7, 30 or 90.")
    days = int(sent)
    tokens = expiring_tokens(site, request, days)
    listed = tokens[:MAX_TOKENS]
    if "csv" in request.GET:
        return csv_file(site, request, listed)
    limit = ""
    if len(tokens) > MAX_TOKENS:
        limit = intcomma(MAX_TOKENS)
    request.current_app = site.name
    context = {
        **site.each_context(request),
        "title": gettext("Expiring tokens"),
        "rows": [row_of(site, token) for token in listed],
        "days": days,
        "periods": PERIODS,
        "limit": limit,
    }
    return TemplateResponse(request, "admin/expiring_tokens.html", context)


def expiring_tokens(site: AdminSite, request: HttpRequest, days: int) -> list[Any]:
    """Return the tokens of both kinds that expire within this number of days,
    of which those that expire first come first.

    At most one more than MAX_TOKENS of each kind are read, with an index.
    """
    found: list[Any] = []
    for model in MODELS:
        if not can_view(site, request, model):
            continue
        tokens: Any = site.get_model_admin(model).get_queryset(request)
        expiring = tokens.expire_within(timedelta(days=days))
        found += expiring.order_by("expires_at")[: MAX_TOKENS + 1]
    found.sort(key=lambda token: token.expires_at)
    return found


def row_of(site: AdminSite, token: Any) -> Row:
    """Return the cells of a token."""
    model_admin: Any = site.get_model_admin(type(token))
    return Row(
        kind=capfirst(token._meta.verbose_name),
        token=model_admin.link_to(token),
        owner=model_admin.link_to(token.owner),
        state=model_admin.badge(token),
        expires=model_admin.expires(token),
        last_used=model_admin.last_used(token),
    )


def csv_file(site: AdminSite, request: HttpRequest, tokens: list[Any]) -> HttpResponse:
    """Return the tokens as a CSV file like those of lists."""
    lines = [csv_line(CSV_COLUMNS)]
    if EXCEL_PARAM in request.GET:
        lines.insert(0, BYTE_ORDER_MARK)
    for token in tokens:
        model_admin: Any = site.get_model_admin(type(token))
        cells = [str(token._meta.verbose_name), str(token.pk), str(token.owner)]
        for name in ("name_and_hint", "badge", "expires", "last_used"):
            cells.append(cell(model_admin, token, name))
        lines.append(csv_line(cells))
    date = timezone.now().date().isoformat()
    disposition = f'attachment; filename="expiring-tokens-{date}.csv"'
    return HttpResponse(
        lines,
        content_type="text/csv; charset=utf-8",
        headers={"Content-Disposition": disposition},
    )
