"""The page that shows the secrets of issued tokens once.

The form that issues tokens redirects to this page, so that nothing is sent again when the page is reloaded. The session
keeps only the primary keys of the tokens, and their secrets do not exist before the page is loaded.
"""

import csv
from collections.abc import Sequence
from io import StringIO
from typing import Any, ClassVar

from django.contrib.admin.options import IS_POPUP_VAR
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import path
from django.utils.crypto import get_random_string
from django.utils.translation import gettext

from usergroups.admin_tools.base import OperatorAdmin
from usergroups.signals import acting_as
from usergroups.transactions import retry_on_conflict

from .models import Token

SESSION_KEY = "issued_tokens"
MAX_BATCHES = 3
"""The maximum number of pages per session."""


class IssuedTokensAdmin(OperatorAdmin):
    """Issues tokens whose secrets a page shows once."""

    owner_fields: ClassVar[tuple[str, ...]]
    """The fields that identify the owner of the token."""

    def get_urls(self) -> list[Any]:
        view = self.admin_site.admin_view(self.issued_view)
        name = f"{self.opts.app_label}_{self.opts.model_name}_issued"
        return [path("issued/<slug:batch>/", view, name=name), *super().get_urls()]

    def redirect_to_secrets(self, request: HttpRequest, tokens: Sequence[Token]) -> HttpResponse:
        """Redirect to the page with the secrets of these tokens, which have been issued with ``withheld=True``."""
        batches, batch = request.session.get(SESSION_KEY, {}), get_random_string(12)
        kept = list(batches.items())[1 - MAX_BATCHES :]
        keys = [str(token.pk) for token in tokens]
        request.session[SESSION_KEY] = {**dict(kept), batch: [self.opts.label, *keys]}
        query = f"{IS_POPUP_VAR}=1" if IS_POPUP_VAR in request.POST else self.get_preserved_filters(request)
        return redirect(self.url_of("issued", batch) + (f"?{query}" if query else ""))

    def issued_view(self, request: HttpRequest, batch: str) -> HttpResponse:
        if not self.has_add_permission(request):
            raise PermissionDenied
        if is_prefetch(request):
            return HttpResponse(status=204)
        label, *keys = request.session.get(SESSION_KEY, {}).get(batch, [""])
        tokens: Any = self.get_queryset(request).filter(pk__in=keys if label == self.opts.label else [])
        issued: list[tuple[Token, str]] = []
        if request.method == "GET":
            with acting_as(request.user):
                issued = retry_on_conflict(tokens.show_withheld, tokens.db)
        shown = {token.pk for token, _ in issued}
        name = self.opts.verbose_name if len(issued) == 1 else self.opts.verbose_name_plural
        title = gettext("%(name)s issued") % {"name": name} if issued else gettext("Secrets are shown only once")
        rows = self.with_predecessors(issued)
        return self.render_page(
            request,
            "usergroups/admin/tokens_issued.html",
            title,
            rows=rows,
            others=[token for token in tokens if token.pk not in shown],
            csv=self.csv_of(rows) if len(rows) > 1 else "",
            is_popup=IS_POPUP_VAR in request.GET,
        )

    def with_predecessors(self, issued: list[tuple[Token, str]]) -> list[dict[str, Any]]:
        """Return the secret, the token and its predecessor, or None, for each issued token."""
        keys = [token.predecessor_id for token, _ in issued if token.predecessor_id]
        old = self.model._base_manager.using(issued[0][0]._state.db).in_bulk(keys) if keys else {}
        return [{"secret": secret, "token": token, "old": old.get(token.predecessor_id)} for token, secret in issued]

    def csv_of(self, rows: list[dict[str, Any]]) -> str:
        """Return the table as CSV that can be pasted into a spreadsheet."""
        output = StringIO()
        writer = csv.writer(output, lineterminator="\n")
        writer.writerow(["old", "new", "name", *self.owner_fields])
        for row in rows:
            token = row["token"]
            owner = [str(getattr(token, name)) for name in self.owner_fields]
            old = row["old"].hint if row["old"] else ""
            writer.writerow([without_formula(text) for text in (old, row["secret"], token.name, *owner)])
        return output.getvalue()


def without_formula(text: str) -> str:
    """Return text that spreadsheets do not evaluate as a formula."""
    return f"'{text}" if text.startswith(("=", "+", "-", "@", "\t", "\r", "\n")) else text


def is_prefetch(request: HttpRequest) -> bool:
    """Return whether the browser loads the page in advance, so that perhaps nobody will see it."""
    return "prefetch" in request.headers.get("Sec-Purpose", request.headers.get("Purpose", ""))
