"""The page that finds rows of all models by a text, such as a secret, a name
or a URL.
"""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from django.apps import apps
from django.contrib import admin
from django.contrib.admin.utils import quote
from django.db import OperationalError, connections, models, transaction
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.urls import URLPattern, URLResolver, path, reverse
from django.utils.decorators import method_decorator
from django.utils.translation import gettext as _
from django.views.decorators.debug import sensitive_post_parameters

from usergroups.db.retry import sqlstate_of

from .lists import is_valid_query

MAX_FOUND = 10  # of each model
MAX_LENGTH = 10_000  # characters; a URL has up to 8,000

STATEMENT_LIMIT = "1s"
QUERY_CANCELED = "57014"  # PostgreSQL's code of the error

PRIVATE = re.compile(r"[0-9A-Za-z]{20}")
"""A text with so many letters and digits in a row may be a secret, also of
another service. It is not shown again.
"""


class FindSite(admin.AdminSite):
    """An admin site with the page ``find/``.

    Its form is the template ``usergroups/admin/find.html``.
    """

    def get_urls(self) -> list[URLResolver | URLPattern]:
        # ``cacheable`` avoids never_cache(), with which browsers could not go
        # back to the response to a POST.
        return [
            path("find/", self.admin_view(self.find_view, cacheable=True), name="find"),
            *super().get_urls(),
        ]

    @property
    def admins(self) -> list[Any]:
        """The admins whose rows Find searches, in the order of the installed
        apps.
        """
        admins = [
            self.get_model_admin(model)
            for model in apps.get_models()
            if self.is_registered(model)
        ]
        return [each for each in admins if getattr(each, "find_fields", ())]

    @property
    def secrets_pattern(self) -> str:
        """The regular expression, for Python and JavaScript, of secrets of any
        model of the site.

        A secret has 38 characters after its prefix. The pattern also matches
        one that was cut off after at least 30.
        """
        prefixes = sorted(
            {each.secret_prefix for each in self.admins if each.secret_prefix}
        )
        # no match
        return (
            rf"(?<![0-9A-Za-z])(?:{'|'.join(prefixes)})_[0-9A-Za-z]{{30,}}"
            if prefixes
            else "(?!)"
        )

    def each_context(self, request: HttpRequest) -> dict[str, Any]:
        context = super().each_context(request)
        if self.has_permission(request):
            context |= {
                "find_url": reverse(f"{self.name}:find"),
                "secrets_pattern": self.secrets_pattern,
            }
        return context

    @method_decorator(sensitive_post_parameters("text"))
    def find_view(self, request: HttpRequest) -> HttpResponse:
        """List the rows that the submitted text finds, or redirect to the page
        of the only one.
        """
        text = request.POST.get("text", "").replace("\0", "")[:MAX_LENGTH].strip()
        found, too_slow = self.find(request, text) if text else ({}, [])
        if not too_slow and [len(rows) for rows in found.values()] == [1]:
            [(model_admin, [row])] = found.items()
            return redirect(model_admin.url_of("change", quote(row.pk)))
        request.current_app = self.name
        shown = "" if PRIVATE.search(text) else text
        groups = [
            {
                "opts": each.opts,
                "lines": map(each.described, rows[:MAX_FOUND]),
                "has_more": len(rows) > MAX_FOUND,
            }
            for each, rows in found.items()
        ]
        page = {
            "title": _("Find"),
            "found": groups,
            "too_slow": [each.opts.verbose_name_plural for each in too_slow],
            "text": shown,
            "find_text": shown,
            "is_private": shown != text,
            "has_list_links": is_valid_query(shown),
        }
        response = TemplateResponse(
            request,
            "usergroups/admin/found.html",
            {**self.each_context(request), **page},
        )
        response["Cache-Control"] = "private, no-cache"
        return response

    def find(
        self, request: HttpRequest, text: str
    ) -> tuple[dict[Any, list[Any]], list[Any]]:
        """Return, by admin, the first rows whose secret is in the text, else
        whose fields equal it, else contain it.

        Also return the admins whose search took too long.
        """
        admins = [each for each in self.admins if each.has_view_permission(request)]
        if secrets := re.findall(self.secrets_pattern, text):
            # Search each model only for its own kind of secrets, because its
            # query may contain them and be logged.
            own = {
                each: [
                    item
                    for item in secrets
                    if item.startswith(f"{each.secret_prefix}_")
                ]
                for each in admins
            }
            return rows_of(
                request,
                {
                    each: each.with_secrets(texts)
                    for each, texts in own.items()
                    if texts
                },
            )
        found, too_slow = rows_of(
            request, {each: each.matching(text, "exact") for each in admins}
        )
        if found or too_slow:
            return found, too_slow
        return rows_of(
            request, {each: each.matching(text, "icontains") for each in admins}
        )


def rows_of(
    request: HttpRequest, conditions: dict[Any, models.Q]
) -> tuple[dict[Any, list[Any]], list[Any]]:
    """Return, by admin, the first rows that meet its condition, if it is not
    empty, and that the user may view.

    Also return the admins whose search took too long.
    """
    found: dict[Any, list[Any]] = {}
    too_slow = []
    for each, condition in conditions.items():
        if not condition:
            continue
        rows = (
            each.get_queryset(request)
            .filter(condition)
            .order_by("-pk")[: MAX_FOUND + 1]
        )
        try:
            with limited_statements(rows.db):
                visible = [
                    row for row in rows if each.has_view_permission(request, row)
                ]
        except OperationalError as error:
            if sqlstate_of(error) != QUERY_CANCELED:
                raise
            too_slow.append(each)
        else:
            if visible:
                found[each] = visible
    return found, too_slow


@contextmanager
def limited_statements(using: str) -> Iterator[None]:
    """Let PostgreSQL cancel each statement of the block that takes longer than
    a second.
    """
    connection = connections[using]
    if connection.vendor != "postgresql":
        yield
        return
    with transaction.atomic(using=using):
        with connection.cursor() as cursor:
            cursor.execute(
                "SELECT set_config('statement_timeout', %s, true)", [STATEMENT_LIMIT]
            )
        yield
