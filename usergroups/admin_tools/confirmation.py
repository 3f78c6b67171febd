"""Admin actions that ask for confirmation, and summaries of what they change."""

from collections.abc import Callable
from copy import copy
from dataclasses import dataclass
from functools import wraps
from typing import Any, ClassVar
from urllib.parse import urlencode

from django import forms
from django.contrib import messages
from django.contrib.admin.views.main import PAGE_VAR
from django.contrib.humanize.templatetags.humanize import intcomma
from django.db import models
from django.http import HttpRequest, HttpResponse, QueryDict
from django.shortcuts import redirect
from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from usergroups import transactions

from .forms import is_valid_value
from .lists import MAX_LISTED, admin_of, display_rows

FILTERS_PARAM = "_changelist_filters"
"""Django's query parameter with the query of the list from which a page was opened, and to which it returns."""

CONFIRMED_KEYS = "confirmed"
"""The form field with the keys of all rows. A field for each key would exceed Django's limit of 1,000 fields."""

MAX_DESCRIBED = 20


class ConfirmationForm(forms.Form):
    """The form on a confirmation page, with what the page shows of the rows."""

    max_rows: ClassVar[int] = 1_000
    """The maximum number of rows that the action changes. It keeps them locked meanwhile."""

    def __init__(self, model_admin: Any, request: HttpRequest, rows: list[Any]) -> None:
        super().__init__(request.POST if request.method == "POST" else None)
        self.refusals: list[str] = []
        """Why the action cannot be performed on these rows."""
        self.counts: dict[str, str] = {}
        self.descriptions = [model_admin.described(row) for row in rows[:MAX_DESCRIBED]]
        if others := len(rows[MAX_DESCRIBED:]):
            text = ngettext("and %(number)s more", "and %(number)s more", others)
            self.descriptions.append(text % {"number": intcomma(others)})


class DeletionForm(ConfirmationForm):
    """The form of a deletion, with the numbers of the related rows that will be deleted as well."""

    max_rows = MAX_LISTED

    def __init__(self, model_admin: Any, request: HttpRequest, rows: list[Any]) -> None:
        super().__init__(model_admin, request, rows)
        self.counts = {str(model_admin.opts.verbose_name_plural): intcomma(len(rows))}
        dependants: dict[Any, models.QuerySet[Any]] = {}
        for each in model_admin.get_queryset(request).dependants([row.pk for row in rows]):
            dependants[each.model] = dependants[each.model] | each if each.model in dependants else each
        limit = transactions.MAX_DEPENDANTS
        for model, related in dependants.items():
            number, other = related[: limit + 1].count(), admin_of(model_admin.admin_site, model)
            if number and (other is None or other.has_view_permission(request)):
                self.counts[str(model._meta.verbose_name_plural)] = intcomma(number)
            if number and other is not None and not other.has_delete_permission(request):
                text = _("You do not have permission to delete: %(name)s.")
                self.refusals.append(text % {"name": model._meta.verbose_name})
            if number > limit:
                text = _("More than %(rows)s. Delete them first, or run manage.py delete_object %(model)s ID.")
                shown = {"rows": display_rows(limit, model._meta), "model": model_admin.opts.label}
                self.refusals.append(text % shown)


def requires_confirmation(
    title: str | Promise, text: str | Promise, form_class: type[ConfirmationForm] = ConfirmationForm
) -> Callable[[Callable[..., Any]], Any]:
    """Decorate an admin action to ask for confirmation before it runs.

    ``title`` has the placeholder ``%(rows)s`` for the number and name of the rows, as in "Delete %(rows)s".
    The action runs in a transaction. It receives the confirmed rows that still exist, locked, and the values of
    ``form_class`` as keyword arguments.
    """

    def decorate(action: Callable[..., Any]) -> Any:
        @wraps(action)
        def ask(model_admin: Any, request: HttpRequest, queryset: models.QuerySet[Any]) -> HttpResponse:
            """Redirect to the page that asks for confirmation. "Select all" stands for the list with its filters."""
            query = {"action": action.__name__, FILTERS_PARAM: request.GET.urlencode()}
            if request.POST.get("select_across") != "1":
                query["keys"] = ",".join(str(key) for key in queryset.values_list("pk", flat=True))
            return redirect(f"{model_admin.url_of('confirm')}?{urlencode(query)}")

        ask.confirmation = Confirmation(action, title, text, form_class)  # type: ignore[attr-defined]
        return ask

    return decorate


@dataclass(frozen=True)
class Confirmation:
    """The page that describes an action and its rows, asks for confirmation and runs the action."""

    action: Callable[..., HttpResponse | str]
    """Takes the model admin, the request, the rows and the form's values. Returns a response, or a message to show."""
    title: str | Promise
    text: str | Promise
    form_class: type[ConfirmationForm]

    def respond(self, model_admin: Any, request: HttpRequest) -> HttpResponse:
        """Show the page, or run the action if its form was submitted."""
        rows = model_admin.get_queryset(request)
        rows = rows.filter(pk__in=chosen_keys(model_admin, request, self.form_class.max_rows))
        found = list(rows)
        if not found:
            messages.info(request, _("The selected rows no longer exist. Nothing was changed."))
            return redirect(origin(model_admin, request, []))
        form = self.form_class(model_admin, request, found)
        if form.refusals or not form.is_valid():
            return self.page(model_admin, request, found, form)
        locked = rows.order_by("pk").select_for_update(of=("self",))
        outcome = transactions.retry_on_conflict(
            lambda: self.action(model_admin, request, locked.all(), **form.cleaned_data), rows.db
        )
        if isinstance(outcome, HttpResponse):
            return outcome
        messages.info(request, outcome)
        return redirect(origin(model_admin, request, [] if isinstance(form, DeletionForm) else found))

    def page(self, model_admin: Any, request: HttpRequest, rows: list[Any], form: ConfirmationForm) -> HttpResponse:
        context = {
            "form": form,
            "text": self.text,
            "note": model_admin.deletion_note,
            "keys_field": CONFIRMED_KEYS,
            "keys": ",".join(str(row.pk) for row in rows),
            "limit": intcomma(form.max_rows) if len(rows) == form.max_rows else "",
            "origin": origin(model_admin, request, rows),
        }
        title = self.title % {"rows": display_rows(len(rows), model_admin.opts)}
        page: HttpResponse = model_admin.render_page(request, "usergroups/admin/confirmation.html", title, **context)
        return page


def chosen_keys(model_admin: Any, request: HttpRequest, max_rows: int) -> list[Any]:
    """Return the keys of the rows that were confirmed or selected, or that the list shows.

    Raises IncorrectLookupParameters if the list cannot have these filters.
    """
    text = request.POST.get(CONFIRMED_KEYS, request.GET.get("keys"))
    if text is not None:
        keys = text.split(",")[:max_rows]
        return [key for key in keys if is_valid_value(model_admin.opts.pk, key)]
    listing: Any = copy(request)
    listing.GET = list_params(request).copy()
    listing.GET.pop(PAGE_VAR, None)
    rows = model_admin.get_changelist_instance(listing).queryset
    return list(rows.values_list("pk", flat=True)[:max_rows])


def list_params(request: HttpRequest) -> QueryDict:
    """Return the parameters of the list from which a page was opened."""
    return QueryDict(request.GET.get(FILTERS_PARAM, ""))


def origin(model_admin: Any, request: HttpRequest, rows: list[Any]) -> str:
    """Return the address of the page of the row or of the list from which the action was started."""
    if "page" in request.GET and rows:
        return str(model_admin.url_of("change", rows[0].pk))
    return f"{model_admin.url_of('changelist')}?{list_params(request).urlencode()}".rstrip("?")
