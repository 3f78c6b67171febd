"""The page that finds rows of all models by a text, such as a secret, a name or a URL."""

import re
from dataclasses import dataclass
from typing import Any

from django.contrib import admin
from django.contrib.admin.utils import display_for_field, display_for_value, label_for_field, lookup_field, quote
from django.contrib.admin.views.main import SEARCH_VAR
from django.db import models
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.urls import URLPattern, URLResolver, path, reverse
from django.utils.decorators import method_decorator
from django.utils.http import urlencode
from django.utils.translation import gettext as _
from django.views.decorators.debug import sensitive_post_parameters

from .admin_urls import admin_url
from .bounded_search import first_rows, problem_of
from .find import FindableAdmin, admins_of, secrets_pattern

MAX_FOUND = 10  # of each model

PRIVATE = re.compile(r"[0-9A-Za-z]{30}")
"""A text with so many letters and digits in a row may be a secret, also of another service. It is not shown again."""


@dataclass
class Found:
    """The first rows of a model that a text identifies. ``rows`` is None if the search took too long."""

    model_admin: FindableAdmin
    rows: list[Any] | None
    list_url: str
    """The address of the list that searches for the same text, or empty if the text may be a secret."""

    @property
    def name(self) -> str:
        return str(self.model_admin.opts.verbose_name_plural)

    @property
    def has_more(self) -> bool:
        return len(self.rows or ()) > MAX_FOUND

    @property
    def labels(self) -> list[str]:
        names = self.model_admin.find_display
        return [str(label_for_field(name, self.model_admin.model, self.model_admin)) for name in names]

    @property
    def lines(self) -> list[dict[str, Any]]:
        """The URL, the text and the other values of each row."""
        names = self.model_admin.find_display
        return [
            {
                "url": change_url(self.model_admin, row),
                "row": row,
                "values": list(zip(self.labels, (self._value(name, row) for name in names), strict=True)),
            }
            for row in (self.rows or ())[:MAX_FOUND]
        ]

    def _value(self, name: str, row: models.Model) -> str:
        field, _attribute, value = lookup_field(name, row, self.model_admin)
        if field is None:
            return str(display_for_value(value, "-"))
        return str(display_for_field(value, field, "-"))


class FindSite(admin.AdminSite):
    """An admin site with the page ``find/``. Its form is the template ``usergroups/admin/find.html``."""

    def get_urls(self) -> list[URLResolver | URLPattern]:
        # Not Django's never_cache(), so that the browser can return to the page, which answers a POST.
        return [path("find/", self.admin_view(self.find_view, cacheable=True), name="find"), *super().get_urls()]

    def each_context(self, request: HttpRequest) -> dict[str, Any]:
        context = super().each_context(request)
        if self.has_permission(request):
            context |= {"find_url": reverse(f"{self.name}:find"), "secrets_pattern": secrets_pattern(self)}
        return context

    @method_decorator(sensitive_post_parameters("text"))
    def find_view(self, request: HttpRequest) -> HttpResponse:
        text = request.POST.get("text", "").strip()
        problem = problem_of(text)
        found = [] if problem else self.find(request, text)
        rows = [(each, row) for each in found for row in each.rows or [None]]
        if len(rows) == 1 and rows[0][1] is not None:
            return redirect(change_url(rows[0][0].model_admin, rows[0][1]))
        request.current_app = self.name
        shown = "" if problem or self.is_private(text) else text
        lists = [(each.opts.verbose_name_plural, list_url(each, shown)) for each in self.asked(request) if shown]
        results = {"problem": problem, "found": found, "text": shown, "find_text": shown, "lists": lists}
        context = {"title": _("Find"), **results}
        response = TemplateResponse(request, "usergroups/admin/found.html", {**self.each_context(request), **context})
        response["Cache-Control"] = "private, no-cache"
        return response

    def find(self, request: HttpRequest, text: str) -> list[Found]:
        """Return what the text identifies: by a secret, otherwise by a whole value, otherwise by a part of a value."""
        admins = self.asked(request)
        if secrets := re.findall(secrets_pattern(self), text):
            # Each query gets only the secrets that are its own, because the log of the database may contain parameters.
            own = {each: [text for text in secrets if text.startswith(f"{each.secret_prefix}_")] for each in admins}
            conditions = {each: each.with_secrets(texts) for each, texts in own.items() if texts}
            return self._rows(request, text, conditions)
        found = self._rows(request, text, {each: each.identified_by(text) for each in admins})
        return found or self._rows(request, text, {each: each.similar_to(text) for each in admins})

    def asked(self, request: HttpRequest) -> list[FindableAdmin]:
        """Return the admins of the models that the user may view."""
        return [each for each in admins_of(self) if each.has_view_permission(request)]

    def is_private(self, text: str) -> bool:
        """Return whether the text may contain a secret, or more of one than the admin shows."""
        return bool(PRIVATE.search(text) or re.search(secrets_pattern(self, 5), text))

    def _rows(self, request: HttpRequest, text: str, conditions: dict[FindableAdmin, models.Q]) -> list[Found]:
        found = []
        for each, condition in conditions.items():
            matching = each.get_queryset(request).filter(condition) if condition else None
            rows = [] if matching is None else first_rows(matching.order_by("-pk")[: MAX_FOUND + 1])
            if rows is None or (rows := [row for row in rows if each.has_view_permission(request, row)]):
                found.append(Found(each, rows, "" if self.is_private(text) else list_url(each, text)))
        return found


def change_url(model_admin: FindableAdmin, row: models.Model) -> str:
    """Return the address of the page of a row."""
    return admin_url(model_admin.admin_site, model_admin.opts, "change", quote(row.pk))


def list_url(model_admin: FindableAdmin, text: str) -> str:
    """Return the address of the list that searches for the text."""
    url = admin_url(model_admin.admin_site, model_admin.opts, "changelist")
    return f"{url}?{urlencode({SEARCH_VAR: text})}"
