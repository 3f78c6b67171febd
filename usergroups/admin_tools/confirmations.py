"""Confirmation pages: what an action will change, and a form that runs it."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import wraps
from typing import Any, TypeAlias

from django import forms
from django.contrib import messages
from django.core.exceptions import ObjectDoesNotExist, PermissionDenied
from django.db import IntegrityError
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import URLPattern
from django.utils.cache import add_never_cache_headers
from django.utils.functional import Promise
from django.utils.http import urlencode
from django.utils.translation import gettext

from usergroups.db.retry import retry_on_conflict
from usergroups.signals import acting_as

from .fields import valid_values
from .pages import M, PagesAdmin, change_url, let_browsers_go_back
from .paginator import display_rows

FILTERS_PARAM = "_changelist_filters"
"""Django's query parameter that holds the query string of the list from which
a page was opened.
"""

ConfirmedAction: TypeAlias = Callable[..., HttpResponse | str]
AskingAction: TypeAlias = Callable[..., HttpResponse]


class ConfirmationForm(forms.Form):
    """The form on a confirmation page, with what the page shows of the rows
    that the action will change.
    """

    max_rows = 900
    """The maximum number of rows that the action changes.

    Each has a check box, and Django refuses forms with more than 1,000 fields.
    """

    def __init__(
        self,
        model_admin: "ConfirmingAdmin[Any]",
        request: HttpRequest,
        rows: Sequence[Any],
    ) -> None:
        data = None
        # Without data, the form is rendered and has no errors.
        if "confirmed" in request.POST:
            data = request.POST
        super().__init__(data)
        self.model_admin = model_admin
        self.request = request
        self.rows = rows
        # why the action cannot be performed on these rows
        self.refusals: list[str] = []
        # There may be more rows than the action changes.
        self.is_limited = len(rows) == self.max_rows
        self.choices = [
            (row.pk, model_admin.described(row), model_admin.is_in_use(row))
            for row in rows
        ]
        self.used = sum(map(model_admin.is_in_use, rows))

    @property
    def has_check_boxes(self) -> bool:
        """Whether single rows can be left out."""
        return len(self.rows) > 1 and not self.refusals


class OneRowForm(ConfirmationForm):
    """The form of an action on one row."""

    max_rows = 1


@dataclass
class Confirmation:
    """Decorates an admin action, so that it asks for confirmation before it
    runs.

    The action runs in a transaction. It receives the confirmed rows that still
    exist, as a queryset that locks them, and the values of ``form_class`` as
    keyword arguments. It returns a response, or a message to show.
    """

    title: str | Promise
    """The title of the page that asks, in which ``%(rows)s`` stands for text
    such as "3 bookmarks".
    """
    text: str | Promise
    form_class: type[ConfirmationForm] = ConfirmationForm
    irreversible: bool = False
    """Whether the buttons of the action are red."""
    action: ConfirmedAction = field(init=False)

    def __call__(self, action: ConfirmedAction) -> AskingAction:
        self.action = action

        @wraps(action)
        def ask(
            model_admin: "ConfirmingAdmin[M]",
            request: HttpRequest,
            queryset: QuerySet[M],
        ) -> HttpResponse:
            """Show the confirmation page for the selected rows of the list."""
            filters = request.GET.urlencode()
            query = {"action": action.__name__, FILTERS_PARAM: filters}
            keys = queryset.values_list("pk", flat=True)
            return model_admin.confirm(request, query, keys)

        ask.confirmation = self  # type: ignore[attr-defined]
        return ask


class ConfirmingAdmin(PagesAdmin[M]):
    """An admin with a confirmation page for actions.

    The query parameters of the page are ``action``; ``keys`` and ``page``, if
    the action was started on the page of a row; and otherwise the filters of
    the list, to which the page leads back.
    """

    one_row_actions: tuple[str, ...] = ()
    """The actions with a OneRowForm, which lists do not offer."""
    counts_use = False
    """Whether confirmation pages say how many of the rows were used in the last
    24 hours.
    """

    def deletion_remark(self, rows: QuerySet[M]) -> str:
        """Return a remark about these rows for the confirmation of a deletion
        that includes them, or an empty text.
        """
        return ""

    def is_in_use(self, row: M) -> bool:
        """Return whether the row was used in the last 24 hours."""
        return False

    def get_action_choices(
        self,
        request: HttpRequest,
        default_choices: Any = None,
        action_location: Any = None,
    ) -> list[tuple[str, str]]:
        """Return the actions that the list offers, without those on one row."""
        # Django 6.1 requires the second argument, which 5.2 and 6.0 do not know.
        given = {"default_choices": default_choices, "action_location": action_location}
        arguments = {name: value for name, value in given.items() if value is not None}
        choices = super().get_action_choices(request, **arguments)
        return [choice for choice in choices if choice[0] not in self.one_row_actions]

    def get_urls(self) -> list[URLPattern]:
        page = self.page_path("confirm/", self.confirm_view, "confirm", cacheable=True)
        # The address of the list responds to an action with a confirmation.
        changelist = self.page_path("", self.changelist_view, "changelist", True)
        return [page, changelist, *super().get_urls()]

    def changelist_view(
        self, request: HttpRequest, extra_context: dict[str, object] | None = None
    ) -> HttpResponse:
        response = super().changelist_view(request, extra_context)
        if request.method != "POST":
            add_never_cache_headers(response)
        return response

    def url_of_confirmation(self, query: Mapping[str, str]) -> str:
        return f"{self.url_of('confirm')}?{urlencode(query)}"

    def confirm_view(self, request: HttpRequest) -> HttpResponse:
        query = request.GET.dict()
        return self.confirm(request, query, [query.get("keys", "")])

    def confirm(
        self,
        request: HttpRequest,
        query: Mapping[str, str],
        keys: Sequence[object] | QuerySet[M, object],
    ) -> HttpResponse:
        """Ask for confirmation of an action on the rows with these keys, or run
        it on the checked ones if the form was submitted.
        """
        confirmation = self.get_confirmation(request, query.get("action", ""))
        form_class = confirmation.form_class
        if "confirmed" in request.POST:
            keys = request.POST.getlist("confirmed")
        valid = valid_values(self.opts.pk, keys[: form_class.max_rows])
        rows = self.get_queryset(request).filter(pk__in=valid)
        found = list(rows)
        if not found:
            text = gettext(
                "No rows were selected, or they no longer exist. Nothing was changed."
            )
            messages.info(request, text)
            return redirect(self.previous_url(query, found))
        form = form_class(self, request, found)
        if form.refusals or not form.is_valid():
            return self.render_confirmation(confirmation, query, form)
        try:
            outcome = self.run_action(confirmation, rows, form)
        except ObjectDoesNotExist:  # An action on one row that is deleted.
            outcome = gettext("The object no longer exists. Nothing was changed.")
        if isinstance(outcome, HttpResponse):
            # It may contain secrets.
            add_never_cache_headers(outcome)
            return outcome
        messages.info(request, outcome)
        # The action may have deleted the rows. Read them again.
        remaining = rows.all()
        return redirect(self.previous_url(query, remaining))

    def locked(self, rows: QuerySet[M], found: Sequence[M]) -> QuerySet[M]:
        """Return a queryset that locks the rows. ``found`` has those that
        existed just now.

        It locks them in one order, so that two actions cannot wait for each
        other.
        """
        return rows.order_by("pk").select_for_update(of=("self",))

    def run_action(
        self, confirmation: Confirmation, rows: QuerySet[M], form: ConfirmationForm
    ) -> HttpResponse | str:
        """Run an action in a transaction and return what it returns."""

        def run() -> HttpResponse | str:
            # Each attempt locks and reads the rows again.
            locked = self.locked(rows.all(), form.rows)
            return confirmation.action(self, form.request, locked, **form.cleaned_data)

        with acting_as(form.request.user):
            try:
                return retry_on_conflict(run, rows.db)
            except IntegrityError:
                return gettext("Nothing was changed, because other objects prevent it.")

    def get_confirmation(self, request: HttpRequest, name: str) -> Confirmation:
        """Return the confirmation of the action with this name.

        Raises PermissionDenied if the user may not perform it, or if it asks
        for no confirmation.
        """
        action = getattr(self, name, None)
        confirmation: Confirmation | None = getattr(action, "confirmation", None)
        if confirmation is None or name not in self.get_actions(request):
            raise PermissionDenied
        return confirmation

    def render_confirmation(
        self,
        confirmation: Confirmation,
        query: Mapping[str, str],
        form: ConfirmationForm,
    ) -> HttpResponse:
        """Show the rows and the form, which is submitted to ``confirm_view()``
        with this query.
        """
        rows = display_rows(len(form.rows), self.opts)
        parents = []
        if len(form.rows) == 1:
            [row] = form.rows
            parents = [self.link_to(each) for each in [*self.parents_of(row), row]]
        # The number would be wrong when a box is no longer checked.
        if form.has_check_boxes:
            rows = str(self.opts.verbose_name_plural)
        response = self.render_page(
            form.request,
            "usergroups/admin/confirmation.html",
            str(confirmation.title) % {"rows": rows},
            form=form,
            text=confirmation.text,
            irreversible=confirmation.irreversible,
            address=self.url_of_confirmation(query),
            previous_url=self.previous_url(query, form.rows),
            parents=parents,
            counts_use=self.counts_use,
        )
        return let_browsers_go_back(response)

    def previous_url(
        self, query: Mapping[str, str], rows: Sequence[M] | QuerySet[M]
    ) -> str:
        """Return the address of the page on which the action was started.

        This is the page of a row, or of its owner, if the query says so and
        the row still exists, and otherwise the filtered list.
        """
        if "page" in query and rows:
            row = rows[0]
            if query["page"] == "owner":
                return change_url(self.admin_site, self.holder_of_secret(row))
            return change_url(self.admin_site, row)
        url = self.url_of("changelist")
        filters = query.get(FILTERS_PARAM)
        if filters:
            url += f"?{filters}"
        return url
