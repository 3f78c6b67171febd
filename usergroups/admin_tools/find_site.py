"""The page that finds rows of all models by a text, such as a secret, a name
or a URL.
"""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple, TypeAlias

from django.apps import apps
from django.contrib import admin
from django.contrib.admin.views.main import SEARCH_VAR
from django.db import OperationalError, connections, models, transaction
from django.db.models import Q, QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.urls import URLPattern, URLResolver, path, reverse
from django.utils.decorators import method_decorator
from django.utils.http import urlencode
from django.utils.text import capfirst
from django.utils.translation import gettext as _
from django.views.decorators.debug import sensitive_post_parameters

from usergroups.db.retry import sqlstate_of

from .cells import one_line, relative_time
from .findable import FindableAdmin
from .pages import change_url, let_browsers_go_back
from .search import is_valid_query

MAX_FOUND = 10  # of each model
MAX_LENGTH = 10_000  # characters; a URL has up to 8,000
MAX_WORDS_LENGTH = 255  # characters of a text that is searched for by its words

STATEMENT_LIMIT = "1s"
QUERY_CANCELED = "57014"  # PostgreSQL's code of the error

PRIVATE = re.compile(r"[0-9A-Za-z]{20}")
"""A text with so many letters and digits in a row may be a secret, also of
another service. It is not shown again.
"""

AnyAdmin: TypeAlias = FindableAdmin[Any]


class Results(NamedTuple):
    rows: dict[AnyAdmin, list[models.Model]]
    """The first rows that were found, by admin."""
    too_slow: list[AnyAdmin]
    """The admins whose search took too long."""
    deleted: list[str]
    """A line about each deleted row that was found."""


class FindSite(admin.AdminSite):
    """An admin site with the page ``find/``.

    Its form is the template ``usergroups/admin/find.html``.
    """

    def get_urls(self) -> list[URLResolver | URLPattern]:
        view = self.admin_view(self.find_view, cacheable=True)
        return [path("find/", view, name="find"), *super().get_urls()]

    @property
    def admins(self) -> list[AnyAdmin]:
        """The admins whose rows Find searches, in the order of the installed
        apps.
        """
        admins = []
        for model in apps.get_models():
            if not self.is_registered(model):
                continue
            each = self.get_model_admin(model)
            if isinstance(each, FindableAdmin) and each.find_fields:
                admins.append(each)
        return admins

    @property
    def secrets_pattern(self) -> str:
        """The regular expression, for Python and JavaScript, of secrets of any
        model of the site.

        A secret has 38 characters after its prefix. The pattern also matches
        one that was cut off after at least 30.
        """
        prefixes = {each.secret_prefix for each in self.admins if each.secret_prefix}
        any_prefix = "|".join(sorted(prefixes))
        return rf"(?<![0-9A-Za-z])(?:{any_prefix})_[0-9A-Za-z]{{30,}}"

    def each_context(self, request: HttpRequest) -> dict[str, object]:
        """Add what the form of Find needs, which is on all pages."""
        context = super().each_context(request)
        if self.has_permission(request):
            context["find_url"] = reverse(f"{self.name}:find")
            context["secrets_pattern"] = self.secrets_pattern
        return context

    @method_decorator(sensitive_post_parameters("text"))
    def find_view(self, request: HttpRequest) -> HttpResponse:
        """List the rows that the submitted text finds, or redirect to the page
        of the only one.
        """
        sent = request.POST.get("text", "").replace("\0", "")
        text = sent[:MAX_LENGTH].strip()
        results = self.find(request, text)
        found = [row for rows in results.rows.values() for row in rows]
        is_only_one = len(found) == 1 and not results.deleted
        if is_only_one and not results.too_slow:
            return redirect(change_url(self, found[0]))
        return self.render_results(request, text, results)

    def render_results(
        self, request: HttpRequest, text: str, results: Results
    ) -> HttpResponse:
        """Show what was found, but not a text that may be a secret."""
        request.current_app = self.name
        is_private = PRIVATE.search(text) is not None
        has_secret = re.search(self.secrets_pattern, text) is not None
        if is_private:
            text = ""
        groups = []
        for each, rows in results.rows.items():
            lines = [each.described(row) for row in rows[:MAX_FOUND]]
            has_more = len(rows) > MAX_FOUND
            groups.append({"opts": each.opts, "lines": lines, "has_more": has_more})
        page = {
            **self.each_context(request),
            "title": _("Find"),
            "found": groups,
            "too_slow": [each.opts.verbose_name_plural for each in results.too_slow],
            "find_text": text,
            "is_private": is_private,
            "has_secret": has_secret,
            "deleted": results.deleted,
            "list_links": self.list_links(request, text),
        }
        response = TemplateResponse(request, "usergroups/admin/found.html", page)
        return let_browsers_go_back(response)

    def list_links(self, request: HttpRequest, text: str) -> list[tuple[str, str]]:
        """Return the name of each list to which Find links, and the address of
        its search for this text. There are none if the text is empty or too
        long.
        """
        if not text or not is_valid_query(text):
            return []
        query = urlencode({SEARCH_VAR: text})
        links = []
        for app in self.get_app_list(request):
            for entry in app["models"]:
                model_admin = self.get_model_admin(entry["model"])
                if getattr(model_admin, "is_linked_by_find", False):
                    links.append((entry["name"], f"{entry['admin_url']}?{query}"))
        return links

    def find(self, request: HttpRequest, text: str) -> Results:
        """Return the first rows whose secret is in the text.

        If it has no secrets, return those with a field that equals it, or if
        there are none, the deleted ones whose id it is, and those with fields
        that contain all of its words.
        """
        results = Results({}, [], [])
        if not text:
            return results
        admins = [each for each in self.admins if each.has_view_permission(request)]
        secrets = re.findall(self.secrets_pattern, text)
        if secrets:
            for each in admins:
                # A query may be logged, so it has no secrets of other models.
                prefix = f"{each.secret_prefix}_"
                own = [secret for secret in secrets if secret.startswith(prefix)]
                if own:
                    add_found(results, request, each, each.with_secrets(own))
            return results
        for each in admins:
            add_found(results, request, each, each.exact_condition(text))
        if results.rows or results.too_slow:
            return results
        words = []
        if len(text) <= MAX_WORDS_LENGTH:
            words = text.split()
        for each in admins:
            add_found(results, request, each, each.words_condition(words))
            add_deleted(results, each, text)
        return results


def add_found(
    results: Results, request: HttpRequest, model_admin: AnyAdmin, condition: Q
) -> None:
    """Add the first rows that meet the condition, if it is not empty, and that
    the user may view.
    """
    if not condition:
        return
    rows = model_admin.get_queryset(request).filter(condition).order_by("-pk")
    found = first_rows(results, model_admin, rows)
    visible = [row for row in found if model_admin.has_view_permission(request, row)]
    if visible:
        results.rows[model_admin] = visible


def add_deleted(results: Results, model_admin: AnyAdmin, text: str) -> None:
    """Add a line about each of the last deletions of rows with this id."""
    records = model_admin.deletions_of(text)
    if records is None:
        return
    rows = records.order_by("-deleted_at")
    for record in first_rows(results, model_admin, rows)[:MAX_FOUND]:
        name = capfirst(model_admin.opts.verbose_name)
        deleted_at = relative_time(record.deleted_at)
        owner = model_admin.link_to(record.owner)
        results.deleted.append(one_line([f"{name} {record}", deleted_at, owner]))


def first_rows(
    results: Results, model_admin: AnyAdmin, rows: QuerySet[Any]
) -> list[Any]:
    """Return the first rows, one more than are shown, or none if that takes
    too long.
    """
    try:
        with limited_statements(rows.db):
            return list(rows[: MAX_FOUND + 1])
    except OperationalError as error:
        if sqlstate_of(error) != QUERY_CANCELED:
            raise
        results.too_slow.append(model_admin)
        return []


@contextmanager
def limited_statements(using: str) -> Iterator[None]:
    """Let PostgreSQL cancel each statement of the block that takes longer than
    STATEMENT_LIMIT.
    """
    connection = connections[using]
    # SQLite has no such limit.
    if connection.vendor != "postgresql":
        yield
        return
    # The limit ends with the transaction.
    with transaction.atomic(using=using):
        with connection.cursor() as cursor:
            cursor.execute(
                "SELECT set_config('statement_timeout', %s, true)", [STATEMENT_LIMIT]
            )
        yield
