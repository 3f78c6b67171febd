"""Actions that ask first, and then do exactly what was confirmed."""

from collections.abc import Callable
from functools import wraps
from typing import Any

from django import forms
from django.db import models, router
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.template.response import TemplateResponse

from usergroups.transactions import retry_on_conflict

from .autocomplete import is_key
from .deletion import shown
from .lists import MAX_LISTED

CONFIRMED = "confirmed"
"""Names the field with the keys of all rows: Django allows a request 1,000 fields."""

FROM_PAGE = "from_page"
"""Tells that the action was chosen on the row's own page, which is the way back."""

MAX_CHANGED = 1_000
"""How many rows an action changes at most: it does so one by one, while others wait for them."""

Action = Callable[..., HttpResponse | str]
"""Takes the model admin, the request, the rows and what the form asked for; returns a page or what to tell."""


def confirmed(
    verb: str, text: str, form_class: type[forms.Form] = forms.Form, deletes: bool = False
) -> Callable[[Action], Any]:
    """Let an action of the admin ask whether it is meant.

    The action gets the rows that the operator was asked about, as far as they are still there, locked, and the values
    of ``form_class`` by name. All of it happens or nothing. If it ``deletes``, the question tells what goes with them.
    """

    def decorate(action: Action) -> Any:
        @wraps(action)
        def ask_or_do(model_admin: Any, request: HttpRequest, queryset: models.QuerySet[Any]) -> HttpResponse | None:
            rows = _chosen(request, queryset, MAX_LISTED if deletes else MAX_CHANGED)
            answered = CONFIRMED in request.POST
            form = form_class(request.POST if answered else None)
            question = Question(model_admin, request, rows, deletes)
            if not question.rows:
                outcome: HttpResponse | str = "What was selected is not there any more. Nothing was changed."
            elif question.obstacles or not answered or not form.is_valid():
                outcome = question.response(action.__name__, verb, text, form)
            else:
                database = router.db_for_write(queryset.model)
                locked = rows.using(database).order_by("pk").select_for_update(of=("self",))
                outcome = retry_on_conflict(
                    lambda: action(model_admin, request, locked.all(), **form.cleaned_data), database
                )
            if isinstance(outcome, HttpResponse):
                return outcome
            model_admin.message_user(request, outcome)
            return question.page() if FROM_PAGE in request.POST and question.rows else None

        return ask_or_do

    return decorate


def _chosen(request: HttpRequest, queryset: models.QuerySet[Any], max_rows: int) -> models.QuerySet[Any]:
    if CONFIRMED in request.POST:
        sent = request.POST[CONFIRMED].split(",")[:max_rows]
        keys: Any = [key for key in sent if is_key(queryset.model._meta.pk, key)]
    else:
        keys = list(queryset.values_list("pk", flat=True)[:max_rows])
    return queryset.filter(pk__in=keys)


class Question:
    """The page that asks."""

    def __init__(self, model_admin: Any, request: HttpRequest, rows: models.QuerySet[Any], deletes: bool) -> None:
        self.model_admin, self.request, self.rows, self.deletes = model_admin, request, list(rows), deletes
        if deletes:
            self.shown, self.counts, lacking, protected = model_admin.get_deleted_objects(self.rows, request)
            self.obstacles = [*(f"You may not delete: {name}." for name in sorted(lacking)), *protected]
        else:
            self.shown, self.counts, self.obstacles = shown(self.rows), {}, []

    def page(self) -> HttpResponse:
        site, opts = self.model_admin.admin_site, self.model_admin.opts
        return redirect(f"{site.name}:{opts.app_label}_{opts.model_name}_change", self.rows[0].pk)

    def response(self, action: str, verb: str, text: str, form: forms.Form) -> HttpResponse:
        self.request.current_app = self.model_admin.admin_site.name
        opts, count = self.model_admin.opts, len(self.rows)
        context = {
            **self.model_admin.admin_site.each_context(self.request),
            "title": f"{verb} {count:,} {opts.verbose_name if count == 1 else opts.verbose_name_plural}",
            "verb": verb,
            "text": text,
            "form": form,
            "question": self,
            "action": action,
            "opts": opts,
            "media": self.model_admin.media,
            "name": CONFIRMED,
            "from_page": FROM_PAGE in self.request.POST,
            "limit": f"{MAX_CHANGED:,}" if not self.deletes and count == MAX_CHANGED else "",
            "keys": ",".join(str(row.pk) for row in self.rows),
        }
        return TemplateResponse(self.request, "usergroups/admin/confirmation.html", context)
