"""Save forms while API clients or other operators change the same rows."""

import re
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar

from django import forms
from django.contrib import admin
from django.db import connections, models, router, transaction
from django.http import HttpRequest
from django.utils import timezone

from usergroups.signals import acting_as
from usergroups.transactions import retry_on_conflict

if TYPE_CHECKING:
    ModelAdmin = admin.ModelAdmin[Any]
else:
    ModelAdmin = admin.ModelAdmin


class SingleLineField(forms.CharField):
    """A text input that keeps line breaks in the stored text, although browsers remove them from the input."""

    def has_changed(self, initial: Any, data: Any) -> bool:
        return super().has_changed(initial, data) and re.sub("[\r\n]", "", initial or "") != data


class SavingAdmin(ModelAdmin):
    """Write only the changed fields, and report conflicts with other transactions as form errors."""

    auto_now_fields: ClassVar[tuple[str, ...]] = ()
    """Fields that are set to the current time with every change."""

    formfield_overrides: ClassVar[Any] = {models.CharField: {"strip": False, "form_class": SingleLineField}}

    def get_form(self, request: HttpRequest, obj: Any = None, change: bool = False, **kwargs: Any) -> Any:
        form = super().get_form(request, obj, change, **kwargs)
        for field in form.base_fields.values():
            # Compare the input with the value that the form was rendered with, not with the current one.
            field.show_hidden_initial = change
        return form

    def save_model(self, request: HttpRequest, obj: models.Model, form: Any, change: bool) -> None:
        if not change:
            super().save_model(request, obj, form, change)
        elif form.changed_data:
            for name in self.auto_now_fields:
                setattr(obj, name, timezone.now())
            obj.save(update_fields=[*form.changed_data, *self.auto_now_fields])

    def get_object(self, request: HttpRequest, object_id: str, from_field: str | None = None) -> Any:
        obj = super().get_object(request, object_id, from_field)
        if obj is None or request.method != "POST" or not connections[obj._state.db].in_atomic_block:
            return obj
        # Lock the row until it is saved or deleted.
        return self.get_queryset(request).select_for_update(of=("self",)).filter(pk=obj.pk).first()

    def changelist_view(self, request: HttpRequest, *args: Any, **kwargs: Any) -> Any:
        with acting_as(request.user):  # for the actions
            return super().changelist_view(request, *args, **kwargs)

    def changeform_view(self, request: HttpRequest, *args: Any, **kwargs: Any) -> Any:
        # After a conflict, validation finds what the other transaction has committed, and the form shows the error.
        return self._retry_on_conflict(super().changeform_view, request, *args, **kwargs)

    def delete_view(self, request: HttpRequest, *args: Any, **kwargs: Any) -> Any:
        return self._retry_on_conflict(super().delete_view, request, *args, **kwargs)

    def message_user(self, request: HttpRequest, *args: Any, **kwargs: Any) -> None:
        # Add the message on commit, so that a rolled-back attempt leaves none.
        add_message = partial(super().message_user, request, *args, **kwargs)
        transaction.on_commit(add_message, using=router.db_for_write(self.model))

    def _retry_on_conflict(self, view: Callable[..., Any], request: HttpRequest, *args: Any, **kwargs: Any) -> Any:
        if request.method != "POST":
            return view(request, *args, **kwargs)
        with acting_as(request.user):
            return retry_on_conflict(partial(view, request, *args, **kwargs), router.db_for_write(self.model))
