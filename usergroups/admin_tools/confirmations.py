"""Confirmation pages: what an action will change, and a form that runs it."""

from collections.abc import Callable, Mapping, Sequence
from copy import copy
from functools import wraps
from typing import Any, ClassVar, NamedTuple

from django import forms
from django.contrib import messages
from django.contrib.admin.helpers import ACTION_CHECKBOX_NAME
from django.contrib.admin.views.main import ERROR_FLAG, PAGE_VAR
from django.contrib.humanize.templatetags.humanize import intcomma
from django.core.exceptions import PermissionDenied
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse, QueryDict
from django.shortcuts import redirect
from django.urls import URLPattern
from django.utils.cache import add_never_cache_headers
from django.utils.functional import Promise
from django.utils.http import urlencode
from django.utils.translation import gettext, ngettext

from usergroups.db.retry import retry_on_conflict
from usergroups.signals import acting_as

from .fields import is_valid_value
from .lists import UNUSABLE
from .model_admin import M
from .pages import PagesAdmin, let_browsers_go_back
from .paginator import display_rows

FILTERS_PARAM = "_changelist_filters"
"""Django's query parameter that holds the query string of the list from which
a page was opened.
"""

MAX_DESCRIBED = 20  # rows that a confirmation page or a message names


class ConfirmationForm(forms.Form):
    """The form on a confirmation page, with what the page shows of the rows
    that the action will change.
    """

    max_rows: ClassVar[int] = 1_000
    """The maximum number of rows that the action changes.

    They are locked until it ends.
    """

    def __init__(
        self,
        model_admin: "ConfirmingAdmin[Any]",
        request: HttpRequest,
        rows: Sequence[Any],
        data: QueryDict | None = None,
    ) -> None:
        super().__init__(data)
        # why the action cannot be performed on these rows
        self.refusals: list[str] = []
        there_may_be_more = len(rows) == self.max_rows
        self.limit = intcomma(self.max_rows) if there_may_be_more else ""
        self.descriptions = [model_admin.described(row) for row in rows[:MAX_DESCRIBED]]
        others = len(rows) - len(self.descriptions)
        if others:
            text = ngettext("and %(number)s more", "and %(number)s more", others)
            self.descriptions.append(text % {"number": intcomma(others)})


class Confirmation(NamedTuple):
    """What the confirmation page of an action shows, and the action itself."""

    action: Callable[..., HttpResponse | str]
    title: str | Promise
    text: str | Promise
    form_class: type[ConfirmationForm]


def requires_confirmation(
    title: str | Promise,
    text: str | Promise,
    form_class: type[ConfirmationForm] = ConfirmationForm,
) -> Callable[[Callable[..., HttpResponse | str]], Callable[..., HttpResponse]]:
    """Decorate an admin action to ask for confirmation before it runs.

    The page that asks shows ``title`` and ``text``. In the title, ``%(rows)s``
    stands for text such as "3 bookmarks". The action runs in a transaction. It
    receives the confirmed rows that still exist, as a queryset that locks
    them, and the values of ``form_class`` as keyword arguments. It returns a
    response, or a message to show.
    """

    def decorate(
        action: Callable[..., HttpResponse | str],
    ) -> Callable[..., HttpResponse]:
        @wraps(action)
        def ask(
            model_admin: "ConfirmingAdmin[M]",
            request: HttpRequest,
            queryset: QuerySet[M],
        ) -> HttpResponse:
            """Redirect to the confirmation page.

            The browser sends the selected keys once more, because they may be
            too long for a URL. After "Select all", the page needs only the
            filters of the list.
            """
            query = {"action": action.__name__, FILTERS_PARAM: request.GET.urlencode()}
            is_whole_list = request.POST.get("select_across") == "1"
            address = f"{model_admin.url_of('confirm')}?{urlencode(query)}"
            return redirect(address, preserve_request=not is_whole_list)

        confirmation = Confirmation(action, title, text, form_class)
        ask.confirmation = confirmation  # type: ignore[attr-defined]
        return ask

    return decorate


class ConfirmingAdmin(PagesAdmin[M]):
    """An admin with a confirmation page for actions.

    The query parameters of the page are ``action``; ``keys`` and ``page``, if
    the action was started on the page of a row; and otherwise the filters of
    the list.
    """

    def get_urls(self) -> list[URLPattern]:
        page = self.page_path("confirm/", self.confirm_view, "confirm", cacheable=True)
        return [page, *super().get_urls()]

    def confirm_view(self, request: HttpRequest) -> HttpResponse:
        return self.confirm(request, request.GET.dict())

    def confirm(self, request: HttpRequest, query: dict[str, str]) -> HttpResponse:
        """Ask for confirmation of an action on the chosen rows, or run it if
        the form was submitted.
        """
        confirmation = self.get_confirmation(request, query.get("action", ""))
        try:
            keys = self.chosen_keys(request, query)[: confirmation.form_class.max_rows]
            valid = [key for key in keys if is_valid_value(self.opts.pk, key)]
            rows = self.get_queryset(request).filter(pk__in=valid)
            found = list(rows)
        except UNUSABLE:  # A filter has a malformed value.
            return redirect(f"{self.url_of('changelist')}?{ERROR_FLAG}=1")
        if not found:
            text = gettext("The selected rows no longer exist. Nothing was changed.")
            messages.info(request, text)
            return redirect(self.origin(query, []))
        data = request.POST if "confirmed" in request.POST else None
        form = confirmation.form_class(self, request, found, data)
        if form.refusals or not form.is_valid():
            return self.render_confirmation(request, query, found, form)
        outcome = self.run(request, confirmation, rows, form.cleaned_data)
        if isinstance(outcome, HttpResponse):
            # It may contain secrets.
            add_never_cache_headers(outcome)
            return outcome
        messages.info(request, outcome)
        return redirect(self.origin(query, rows.all()))

    def chosen_keys(self, request: HttpRequest, query: Mapping[str, str]) -> Any:
        """Return the keys of the confirmed rows, or of the row in the query,
        or of the selected rows, or of the filtered list.
        """
        if "confirmed" in request.POST:
            return request.POST["confirmed"].split(",")
        if "keys" in query:
            return [query["keys"]]
        if request.method == "POST":
            return request.POST.getlist(ACTION_CHECKBOX_NAME)
        list_request: Any = copy(request)
        list_request.GET = QueryDict(query.get(FILTERS_PARAM), mutable=True)
        list_request.GET.pop(PAGE_VAR, None)
        rows = self.get_changelist_instance(list_request).queryset
        return rows.values_list("pk", flat=True)

    def get_confirmation(self, request: HttpRequest, name: str) -> Confirmation:
        """Return the confirmation of the action with this name.

        Raises PermissionDenied if the user may not perform it, or if it asks
        for no confirmation.
        """
        confirmation = getattr(getattr(self, name, None), "confirmation", None)
        if confirmation is None or name not in self.get_actions(request):
            raise PermissionDenied
        return confirmation  # type: ignore[no-any-return]

    def run(
        self,
        request: HttpRequest,
        confirmation: Confirmation,
        rows: QuerySet[M],
        values: dict[str, Any],
    ) -> HttpResponse | str:
        """Run the action in a transaction that locks the rows."""
        locked = rows.order_by("pk").select_for_update(of=("self",))

        def attempt() -> HttpResponse | str:
            return confirmation.action(self, request, locked.all(), **values)

        with acting_as(request.user):
            return retry_on_conflict(attempt, rows.db)

    def render_confirmation(
        self,
        request: HttpRequest,
        query: Mapping[str, str],
        rows: Sequence[M],
        form: ConfirmationForm,
    ) -> HttpResponse:
        """Show the rows and the form, which is submitted to ``confirm_view()``
        with this query.
        """
        confirmation = self.get_confirmation(request, query["action"])
        title = str(confirmation.title) % {"rows": display_rows(len(rows), self.opts)}
        response = self.render_page(
            request,
            "usergroups/admin/confirmation.html",
            title,
            form=form,
            rows=rows,
            text=confirmation.text,
            address=f"{self.url_of('confirm')}?{urlencode(query)}",
            origin=self.origin(query, rows),
        )
        return let_browsers_go_back(response)

    def origin(
        self, query: Mapping[str, str], rows: "Sequence[M] | QuerySet[M]"
    ) -> str:
        """Return the address from which the action was started: that of the
        page of a row, if there are rows, or of the filtered list.
        """
        if "page" in query and rows:
            return self.url_of("change", rows[0].pk)
        filters = query.get(FILTERS_PARAM, "")
        address = self.url_of("changelist")
        return f"{address}?{filters}" if filters else address
