"""Admin actions that ask for confirmation, and summaries of what they change."""

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import wraps
from typing import Any
from urllib.parse import urlencode

from django import forms
from django.contrib import admin, messages
from django.contrib.humanize.templatetags.humanize import intcomma
from django.db import models, router
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils.functional import Promise
from django.utils.html import format_html_join
from django.utils.text import capfirst
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from usergroups.transactions import dependants, retry_on_conflict

from .autocomplete import is_valid_value
from .lists import MAX_LISTED, bounded_count, display_number, display_rows
from .related import FILTERS_PARAM, list_params

CONFIRMED_KEYS = "confirmed"
"""The form field with the keys of all rows. A field for each key would exceed Django's limit of 1,000 fields."""

MAX_CHANGED = 1_000
"""The maximum number of rows that an action changes. It keeps them locked meanwhile."""

MAX_DESCRIBED = 20

Action = Callable[..., HttpResponse | str]
"""Takes the model admin, the request, the rows and the form's values. Returns a response, or a message to show."""

DeletionSummary = tuple[list[str], dict[str, str], set[str], list[str]]
"""Descriptions of the rows, counts by model, the models without permission to delete, and the protected rows."""


class ConfirmationForm(forms.Form):
    """The form on a confirmation page. Its fields may depend on the rows."""

    refusal = ""
    """Why the action cannot be performed on these rows."""

    def __init__(self, rows: list[Any], site: admin.AdminSite, data: Any = None) -> None:
        super().__init__(data)


def requires_confirmation(
    title: str | Promise,
    text: str | Promise,
    form_class: type[ConfirmationForm] = ConfirmationForm,
    deletes: bool = False,
) -> Callable[[Action], Any]:
    """Decorate an admin action to ask for confirmation before it runs.

    ``title`` has the placeholder ``%(rows)s`` for the number and name of the rows, as in "Delete %(rows)s".
    The action runs in a transaction. It receives the confirmed rows that still exist, locked, and the values of
    ``form_class`` as keyword arguments. If it ``deletes``, the confirmation page lists the related rows that will be
    deleted as well.
    """

    def decorate(action: Action) -> Any:
        @wraps(action)
        def ask(model_admin: Any, request: HttpRequest, queryset: models.QuerySet[Any]) -> HttpResponse:
            """Redirect to the page that asks for confirmation. "Select all" stands for the list with its filters."""
            query = {"action": action.__name__, **selection(request, queryset)}
            return redirect(f"{model_admin.url_of('confirm')}?{urlencode(query)}")

        ask.confirmation = Confirmation(action, title, text, form_class, deletes)  # type: ignore[attr-defined]
        return ask

    return decorate


def selection(request: HttpRequest, queryset: models.QuerySet[Any]) -> dict[str, str]:
    """Return the query parameters that name the selected rows, or the filtered list if all of its rows are selected."""
    query = {FILTERS_PARAM: request.GET.urlencode()}
    if request.POST.get("select_across") != "1":
        query["keys"] = ",".join(str(key) for key in queryset.values_list("pk", flat=True))
    return query


def valid_keys(model: Any, text: str) -> list[str]:
    """Return those of the keys in a parameter of ``selection`` that the model can have."""
    return [key for key in text.split(",")[:MAX_LISTED] if is_valid_value(model._meta.pk, key)]


@dataclass(frozen=True)
class Confirmation:
    """The page that describes an action and the rows that it changes, asks for confirmation and runs the action."""

    action: Action
    title: str | Promise
    text: str | Promise
    form_class: type[ConfirmationForm]
    deletes: bool

    def respond(self, model_admin: Any, request: HttpRequest) -> HttpResponse:
        rows = model_admin.get_queryset(request).filter(pk__in=self.keys(model_admin, request))
        found = list(rows)
        if not found:
            messages.info(request, _("The selected rows no longer exist. Nothing was changed."))
            return redirect(self.origin(model_admin, request, []))
        form = self.form_class(found, model_admin.admin_site, request.POST if request.method == "POST" else None)
        described = self.describe(model_admin, request, found, form)
        if described["errors"] or not form.is_valid():
            return self.page(model_admin, request, found, form=form, confirmation=described)
        locked = rows.order_by("pk").select_for_update(of=("self",))
        outcome = retry_on_conflict(
            lambda: self.action(model_admin, request, locked.all(), **form.cleaned_data), rows.db
        )
        if isinstance(outcome, HttpResponse):
            return outcome
        messages.info(request, outcome)
        return redirect(self.origin(model_admin, request, [] if self.deletes else found))

    def keys(self, model_admin: Any, request: HttpRequest) -> list[Any]:
        """Return the keys of the rows that were confirmed or selected, or that the list shows."""
        max_rows = MAX_LISTED if self.deletes else MAX_CHANGED
        if "keys" not in request.GET and request.method != "POST":
            rows = model_admin.changelist_before(request).queryset
            return list(rows.values_list("pk", flat=True)[:max_rows])
        return valid_keys(model_admin.model, request.POST.get(CONFIRMED_KEYS, request.GET.get("keys", "")))[:max_rows]

    def describe(
        self, model_admin: Any, request: HttpRequest, rows: list[Any], form: ConfirmationForm
    ) -> dict[str, Any]:
        """Return what the page shows of the rows, and the reasons for which the action cannot be performed."""
        if not self.deletes:
            return {"descriptions": describe(model_admin, rows), "errors": [form.refusal] if form.refusal else []}
        descriptions, counts, perms_needed, protected = model_admin.get_deleted_objects(rows, request)
        text = _("You do not have permission to delete: %(name)s.")
        forbidden = [text % {"name": name} for name in sorted(perms_needed)]
        return {"descriptions": descriptions, "counts": counts, "errors": [*forbidden, *protected]}

    def page(self, model_admin: Any, request: HttpRequest, rows: list[Any], **context: Any) -> HttpResponse:
        title = self.title % {"rows": display_rows(len(rows), model_admin.opts)}
        page = {
            "text": self.text,
            "keys_field": CONFIRMED_KEYS,
            "keys": ",".join(str(row.pk) for row in rows),
            "limit": intcomma(MAX_CHANGED) if not self.deletes and len(rows) == MAX_CHANGED else "",
            "origin": self.origin(model_admin, request, rows),
        }
        template = "usergroups/admin/confirmation.html"
        response: HttpResponse = model_admin.render_page(request, template, title, **page, **context)
        return response

    def origin(self, model_admin: Any, request: HttpRequest, rows: list[Any]) -> str:
        """Return the address of the page of the row or of the list from which the action was started."""
        if "page" in request.GET and rows:
            return str(model_admin.url_of("change", rows[0].pk))
        return f"{model_admin.url_of('changelist')}?{list_params(request).urlencode()}".rstrip("?")


def describe(model_admin: Any, rows: Sequence[models.Model]) -> list[str]:
    """Return descriptions of the first rows, and the number of the others."""
    name = capfirst(model_admin.opts.verbose_name)
    described = [[f"{name}: {row}", *filter(None, model_admin.details(row))] for row in rows[:MAX_DESCRIBED]]
    texts: list[str] = [format_html_join(" · ", "{}", ([part] for part in parts)) for parts in described]
    if others := len(rows[MAX_DESCRIBED:]):
        texts.append(ngettext("and %(number)s more", "and %(number)s more", others) % {"number": intcomma(others)})
    return texts


def deletion_summary(model_admin: Any, objs: Sequence[models.Model], request: HttpRequest) -> DeletionSummary:
    """Return what ModelAdmin.get_deleted_objects() returns, with counts in place of a list of all related rows."""
    counts = {str(model_admin.opts.verbose_name_plural): intcomma(len(objs))}
    perms_needed, protected, site = set(), [], model_admin.admin_site
    cascading: dict[Any, models.Q] = defaultdict(models.Q)
    protecting: dict[Any, models.Q] = defaultdict(models.Q)
    for relation, way in dependants(model_admin.model):
        paths = cascading if relation.on_delete is models.CASCADE else protecting
        paths[relation.related_model] |= models.Q(**{f"{way}__in": objs})
    for model, path in cascading.items():
        if number := bounded_count(_rows(model).filter(path)):
            other = site.get_model_admin(model) if site.is_registered(model) else None
            if other is None or other.has_view_permission(request):
                counts[str(model._meta.verbose_name_plural)] = display_number(number)
            if other is not None and not other.has_delete_permission(request):
                perms_needed.add(str(model._meta.verbose_name))
    for model, path in protecting.items():
        if model not in cascading:  # Otherwise a cascade may delete these rows first.
            protected += [f"{model._meta.verbose_name}: {row}" for row in _rows(model).filter(path)[:MAX_DESCRIBED]]
    return describe(model_admin, objs), counts, perms_needed, protected


def _rows(model: Any) -> Any:
    return model._base_manager.using(router.db_for_write(model))
