"""Deletions, with a confirmation that counts what is deleted as well."""

from collections.abc import Sequence
from typing import Any

from django import forms
from django.contrib import admin
from django.contrib.admin.utils import unquote
from django.contrib.humanize.templatetags.humanize import intcomma
from django.db import models
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.utils.functional import Promise
from django.utils.html import escape
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from usergroups.db import cascades
from usergroups.db.cascades import ProtectingError
from usergroups.events import Kind

from .confirmations import Confirmation, ConfirmationForm, ConfirmingAdmin
from .history import log_action
from .pages import M
from .paginator import display_rows

MAX_BLOCKERS = 20  # rows that a message names


class DeletionForm(ConfirmationForm):
    """The form of a deletion, with the numbers of related rows.

    Rows that the deletion detaches are counted as well, because they may
    become duplicates, which are deleted.
    """

    model_admin: "DeletingAdmin[Any]"

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.note = self.model_admin.deletion_note
        if self.model_admin.deletion_asks_for_name:
            self.ask_for_name()
        # sentences about what is deleted as well
        self.remarks: list[str] = []
        name = str(self.model_admin.opts.verbose_name_plural)
        self.counts = {name: intcomma(len(self.rows))}
        queryset: Any = self.model_admin.get_queryset(self.request)
        keys = [row.pk for row in self.rows]
        for rows in queryset.dependants_by_model(keys).values():
            self.count(rows)

    def ask_for_name(self) -> None:
        """Add a field for the name of the only row, which the user types."""
        if len(self.rows) > 1:
            self.refusals.append(gettext("Delete them one at a time."))
        # Django does not escape the help text of a field.
        text = gettext("To confirm, type “%(name)s”.") % {"name": escape(self.name)}
        self.fields["name"] = forms.CharField(label=gettext("Name"), help_text=text)

    @property
    def name(self) -> str:
        """The name of the only row, without outer spaces, as a field of a form
        returns it. A row without a name has that in lists.
        """
        row = self.rows[0]
        return str(row.name).strip() or str(row).strip()

    def clean(self) -> None:
        super().clean()
        # Remove the name from the arguments of the action. Only the form for
        # one row has it.
        typed = self.cleaned_data.pop("name", None)
        if typed is not None and typed != self.name:
            self.add_error(None, gettext("This is another name."))

    def count(self, dependants: QuerySet[models.Model]) -> None:
        """Add the number of these rows, if the user may know it, and the
        reasons not to delete them.
        """
        limit = cascades.MAX_DEPENDANTS
        number = dependants[: limit + 1].count()
        if not number:
            return
        model = dependants.model
        # None if the model is not registered. Then, nobody needs permissions.
        other = self.model_admin.admin_site._registry.get(model)
        if other is None or other.has_view_permission(self.request):
            self.counts[str(model._meta.verbose_name_plural)] = intcomma(number)
            if isinstance(other, ConfirmingAdmin):
                self.remarks += filter(None, [other.deletion_remark(dependants)])
        if other is not None and not other.has_delete_permission(self.request):
            text = gettext("You do not have permission to delete: %(name)s.")
            self.refusals.append(text % {"name": model._meta.verbose_name})
        if number > limit:
            text = gettext(
                "More than %(rows)s. Delete them first, or run manage.py "
                "delete_object %(model)s ID."
            )
            shown = display_rows(limit, model._meta)
            values = {"rows": shown, "model": self.model_admin.opts.label}
            self.refusals.append(text % values)


def protected_message(error: ProtectingError) -> str:
    """Return a message that names the rows which prevented a deletion."""
    # Both errors have the rows as their second argument.
    blockers = list(error.args[1])[:MAX_BLOCKERS]
    names = [f"{row._meta.verbose_name} {row}" for row in blockers]
    text = gettext("Nothing was deleted, because these objects prevent it: %(names)s.")
    return text % {"names": ", ".join(names)}


class DeletingAdmin(ConfirmingAdmin[M]):
    """An admin that deletes rows with the action ``delete_selected`` only."""

    actions: Sequence[str] = ("delete_selected",)
    deletion_note: str | Promise = ""
    """What the confirmation of a deletion says besides the numbers of rows."""
    deletion_asks_for_name = False
    """Whether the user must type the name of the row to delete it."""

    @admin.action(
        description=_("Delete selected %(verbose_name_plural)s"),
        permissions=["delete"],
    )
    @Confirmation(
        _("Delete %(rows)s"),
        _("The following is affected. This cannot be undone."),
        DeletionForm,
        irreversible=True,
    )
    def delete_selected(self, request: HttpRequest, queryset: QuerySet[M]) -> str:
        """Delete the rows, or say which others prevent it."""
        rows = list(queryset)
        try:
            _number, counts = queryset.delete()
        except (models.ProtectedError, models.RestrictedError) as error:
            return protected_message(error)
        log_action(request.user, Kind.DELETED, rows, counts=counts)
        shown = display_rows(len(rows), self.opts)
        return gettext("Deleted %(rows)s.") % {"rows": shown}

    def delete_view(
        self,
        request: HttpRequest,
        object_id: str,
        extra_context: dict[str, object] | None = None,
    ) -> HttpResponse:
        """Ask for confirmation on the page of the action, not Django's."""
        query = request.GET.dict()
        query["action"] = "delete_selected"
        query["keys"] = unquote(object_id)
        # Each value but "owner" leads back to the page of the row.
        query["page"] = "1"
        return self.confirm(request, query, [query["keys"]])
