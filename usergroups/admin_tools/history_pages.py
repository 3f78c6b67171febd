"""The history on the pages of rows, and forms that restore old values."""

from typing import Any

from django.contrib.admin.models import LogEntry
from django.contrib.admin.options import get_content_type_for_model
from django.contrib.admin.utils import unquote
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils.http import urlencode

from .addresses import admin_url
from .fields import is_valid_value
from .forms import OperatorForm
from .history import changed_values, changes_of
from .model_admin import M, ModelAdmin
from .permissions import can_view


class HistoryAdmin(ModelAdmin[M]):
    """An admin that keeps the old and the new values of changed fields in the
    history, and restores old ones.

    Its forms are OperatorForms.
    """

    def construct_change_message(
        self,
        request: HttpRequest,
        form: Any,
        formsets: Any,
        add: bool = False,
    ) -> list[dict[str, Any]]:
        message: Any = super().construct_change_message(request, form, formsets, add)
        values = {} if add else changed_values(form)
        if values:
            message[0]["changed"]["values"] = values
        return message  # type: ignore[no-any-return]

    def history_view(
        self,
        request: HttpRequest,
        object_id: str,
        extra_context: dict[str, Any] | None = None,
    ) -> HttpResponse:
        """Redirect to the list of all changes, filtered by the row, if the
        user may view that list.
        """
        if not can_view(self.admin_site, request, LogEntry):
            return super().history_view(request, object_id, extra_context)
        query: dict[str, Any] = {
            "content_type": get_content_type_for_model(self.model).pk,
            "object_id": unquote(object_id),
        }
        changes = admin_url(self.admin_site, LogEntry._meta, "changelist")
        return redirect(f"{changes}?{urlencode(query)}")

    def restore(self, request: HttpRequest, obj: M, form: OperatorForm[M]) -> None:
        """Fill the form with the old values of the history entry that the
        query parameter ``restore`` names, if any.
        """
        key = request.GET.get("restore")
        if not key or not is_valid_value(LogEntry._meta.pk, key):
            return
        entry = LogEntry.objects.filter(
            content_type=get_content_type_for_model(obj), object_id=str(obj.pk), pk=key
        ).first()
        if entry is None:
            return
        for change in changes_of(entry):
            name = change.field.name
            if name not in form.fields:
                continue
            # Keep the current value in the hidden input, so that the old one
            # counts as a change when it is saved.
            current = form.fields[name].prepare_value(form.initial[name])
            form.open_with(name, current)
            if change.old and change.field.is_relation:
                form.initial[name] = change.old["key"]
            else:
                form.initial[name] = change.old
