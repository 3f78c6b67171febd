"""Confirmation pages for admin actions."""

from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any

from django import forms
from django.contrib import messages
from django.contrib.humanize.templatetags.humanize import intcomma
from django.db import models, router
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils.functional import Promise
from django.utils.translation import gettext as _

from usergroups.transactions import retry_on_conflict

from .admin_urls import admin_url
from .autocomplete import is_valid_value
from .deletion import MAX_DESCRIBED, describe
from .lists import MAX_LISTED, display_rows

CONFIRMED_KEYS = "confirmed"
"""The form field with the keys of all rows. A field for each key would exceed Django's limit of 1,000 fields."""

FROM_CHANGE_PAGE = "from_page"
"""The form field that is present if the action was started from the change page.

The user then returns to that page.
"""

MAX_CHANGED = 1_000
"""The maximum number of rows that an action changes. It changes them one by one and keeps them locked meanwhile."""

Action = Callable[..., HttpResponse | str]
"""Takes the model admin, the request, the rows and the form's values. Returns a response, or a message to show."""


class RowsForm(forms.Form):
    """A form whose fields depend on the rows."""

    def use_rows(self, model_admin: Any, rows: list[Any]) -> list[str]:
        """Add the fields. Return the reasons for which the action cannot be performed on these rows."""
        raise NotImplementedError


def requires_confirmation(
    title: str | Promise, text: str | Promise, form_class: type[forms.Form] = forms.Form, deletes: bool = False
) -> Callable[[Action], Any]:
    """Decorate an admin action to ask for confirmation before it runs.

    ``title`` has the placeholder ``%(rows)s`` for the number and name of the rows, as in "Delete %(rows)s".
    The action runs in a transaction. It receives the confirmed rows that still exist, locked, and the values of
    ``form_class`` as keyword arguments. If it ``deletes``, the confirmation page lists the related rows that will be
    deleted as well.
    """

    def decorate(action: Action) -> Any:
        @wraps(action)
        def wrapper(model_admin: Any, request: HttpRequest, queryset: models.QuerySet[Any]) -> HttpResponse | None:
            rows = _selected_rows(request, queryset, MAX_LISTED if deletes else MAX_CHANGED)
            is_confirmed = CONFIRMED_KEYS in request.POST
            form = form_class(request.POST if is_confirmed else None)
            page = ConfirmationPage(model_admin, request, rows, deletes)
            if isinstance(form, RowsForm) and page.rows:
                page.errors += form.use_rows(model_admin, page.rows)
            if not page.rows:
                outcome: HttpResponse | str = _("The selected rows no longer exist. Nothing was changed.")
            elif page.errors or not is_confirmed or not form.is_valid():
                outcome = page.response(action.__name__, title, text, form)
            else:
                database = router.db_for_write(queryset.model)
                confirmed = rows.using(database).order_by("pk")
                outcome = retry_on_conflict(
                    lambda: action(
                        model_admin, request, confirmed.select_for_update(of=("self",)), **form.cleaned_data
                    ),
                    database,
                )
            if isinstance(outcome, HttpResponse):
                return outcome
            messages.info(request, outcome)
            return page.redirect_to_row() if FROM_CHANGE_PAGE in request.POST and page.rows else None

        return wrapper

    return decorate


def _selected_rows(request: HttpRequest, queryset: models.QuerySet[Any], max_rows: int) -> models.QuerySet[Any]:
    if CONFIRMED_KEYS in request.POST:
        sent = request.POST[CONFIRMED_KEYS].split(",")[:max_rows]
        keys: Any = [key for key in sent if is_valid_value(queryset.model._meta.pk, key)]
    else:
        keys = list(queryset.values_list("pk", flat=True)[:max_rows])
    return queryset.filter(pk__in=keys)


class ConfirmationPage:
    """The page that describes an action and the rows that it changes, and asks for confirmation."""

    table: Sequence[dict[str, Any]] = ()

    def __init__(self, model_admin: Any, request: HttpRequest, rows: models.QuerySet[Any], deletes: bool) -> None:
        self.model_admin, self.request, self.rows, self.deletes = model_admin, request, list(rows), deletes
        if deletes:
            summary = model_admin.get_deleted_objects(self.rows, request)
            self.descriptions, self.counts, perms_needed, protected = summary
            text = _("You do not have permission to delete: %(name)s.")
            forbidden = [text % {"name": name} for name in sorted(perms_needed)]
            self.errors = [*forbidden, *protected]
        else:
            self.descriptions, self.counts, self.errors = describe(self.rows), {}, []
            if table := model_admin.confirmation_table(self.rows[:MAX_DESCRIBED]):
                self.table, self.descriptions = table, self.descriptions[MAX_DESCRIBED:]

    def redirect_to_row(self) -> HttpResponse:
        return redirect(admin_url(self.model_admin.admin_site, self.model_admin.opts, "change", self.rows[0].pk))

    def response(self, action: str, title: Any, text: Any, form: forms.Form) -> HttpResponse:
        opts, count = self.model_admin.opts, len(self.rows)
        response: HttpResponse = self.model_admin.render_page(
            self.request,
            "usergroups/admin/confirmation.html",
            title % {"rows": display_rows(count, opts)},
            confirmation=self,
            action=action,
            text=text,
            form=form,
            keys_field=CONFIRMED_KEYS,
            from_page=FROM_CHANGE_PAGE in self.request.POST,
            limit=intcomma(MAX_CHANGED) if not self.deletes and count == MAX_CHANGED else "",
            keys=",".join(str(row.pk) for row in self.rows),
        )
        return response
