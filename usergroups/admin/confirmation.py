"""Actions that ask first, and then do exactly what was confirmed."""

from collections.abc import Callable
from functools import wraps
from typing import Any

from django import forms
from django.db import models, router
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse

from usergroups.transactions import repeated

from .autocomplete import is_key
from .deletion import shown
from .lists import MAX_LISTED

CONFIRMED = "confirmed"
"""Names the field with the keys of all rows: Django allows a request 1,000 fields."""

Action = Callable[..., HttpResponse | str]
"""Takes the model admin, the request, the rows and what the form asked for; returns a page or what to tell."""


def confirmed(verb: str, text: str, form_class: type[forms.Form] = forms.Form) -> Callable[[Action], Any]:
    """Let an action of the admin ask whether it is meant.

    The action gets the rows that the operator was asked about, as far as they are still there, and the values of
    ``form_class`` by name. All of it happens or nothing.
    """

    def decorate(action: Action) -> Any:
        @wraps(action)
        def ask_or_do(model_admin: Any, request: HttpRequest, queryset: models.QuerySet[Any]) -> HttpResponse | None:
            rows = _chosen(request, queryset)
            answered = CONFIRMED in request.POST
            form = form_class(request.POST if answered else None)
            page = Question(model_admin, request, rows, action.__name__)
            if not page.rows:
                outcome: HttpResponse | str = "What was selected is not there any more. Nothing was changed."
            elif page.is_refused or not answered or not form.is_valid():
                outcome = page.response(verb, text, form)
            else:
                outcome = repeated(
                    lambda: action(model_admin, request, rows, **form.cleaned_data),
                    using=router.db_for_write(queryset.model),
                )
            if isinstance(outcome, HttpResponse):
                return outcome
            model_admin.message_user(request, outcome)
            return None

        return ask_or_do

    return decorate


def _chosen(request: HttpRequest, queryset: models.QuerySet[Any]) -> models.QuerySet[Any]:
    if CONFIRMED in request.POST:
        sent = request.POST[CONFIRMED].split(",")
        keys: Any = [key for key in sent if is_key(queryset.model._meta.pk, key)]
    else:
        keys = list(queryset.values_list("pk", flat=True)[:MAX_LISTED])
    return queryset.filter(pk__in=keys)


class Question:
    """The page that asks."""

    def __init__(self, model_admin: Any, request: HttpRequest, rows: models.QuerySet[Any], action: str) -> None:
        self.model_admin, self.request, self.rows, self.action = model_admin, request, list(rows), action
        if action == "delete_selected":
            self.shown, self.counts, lacking, protected = model_admin.get_deleted_objects(self.rows, request)
            self.obstacles = [*(f"You may not delete: {name}." for name in sorted(lacking)), *protected]
        else:
            self.shown, self.counts, self.obstacles = shown(self.rows), {}, []

    @property
    def is_refused(self) -> bool:
        return bool(self.obstacles)

    def response(self, verb: str, text: str, form: forms.Form) -> HttpResponse:
        self.request.current_app = self.model_admin.admin_site.name
        opts, count = self.model_admin.opts, len(self.rows)
        context = {
            **self.model_admin.admin_site.each_context(self.request),
            "title": f"{verb} {count:,} {opts.verbose_name if count == 1 else opts.verbose_name_plural}",
            "verb": verb,
            "text": text,
            "form": form,
            "question": self,
            "opts": opts,
            "media": self.model_admin.media,
            "name": CONFIRMED,
            "keys": ",".join(str(row.pk) for row in self.rows),
        }
        return TemplateResponse(self.request, "usergroups/admin/confirmation.html", context)
