"""Saving what an operator changed, while callers change things too."""

import re
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar

from django import forms
from django.contrib import admin
from django.db import connections, models, router
from django.http import HttpRequest
from django.utils import timezone

from usergroups.transactions import retry_on_conflict

if TYPE_CHECKING:
    ModelAdmin = admin.ModelAdmin[Any]
else:
    ModelAdmin = admin.ModelAdmin


class LineField(forms.CharField):
    """Text as it is sent. That a browser's line has no line breaks does not change a text that has some."""

    def has_changed(self, initial: Any, data: Any) -> bool:
        return super().has_changed(initial, data) and re.sub("[\r\n]", "", initial or "") != data


class SavingAdmin(ModelAdmin):
    """Writes only what the operator changed, and tells what others did meanwhile in the form, not as a fault."""

    touched_fields: ClassVar[tuple[str, ...]] = ()
    """Fields that are set to now with every change."""

    formfield_overrides: ClassVar[Any] = {models.CharField: {"strip": False, "form_class": LineField}}

    def get_form(self, request: HttpRequest, obj: Any = None, change: bool = False, **kwargs: Any) -> Any:
        form = super().get_form(request, obj, change, **kwargs)
        for field in form.base_fields.values():
            # What the operator changed is told by what was shown, not by what a caller has made of it meanwhile.
            field.show_hidden_initial = change
        return form

    def save_model(self, request: HttpRequest, obj: models.Model, form: Any, change: bool) -> None:
        if not change:
            super().save_model(request, obj, form, change)
        elif form.changed_data:
            for name in self.touched_fields:
                setattr(obj, name, timezone.now())
            obj.save(update_fields=[*form.changed_data, *self.touched_fields])

    def get_object(self, request: HttpRequest, object_id: str, from_field: str | None = None) -> Any:
        obj = super().get_object(request, object_id, from_field)
        database = router.db_for_write(self.model)
        if obj is None or request.method != "POST" or not connections[database].in_atomic_block:
            return obj
        # Nobody deletes or changes it before this is done.
        return self.model._default_manager.using(database).select_for_update().filter(pk=obj.pk).first()

    def changeform_view(
        self, request: HttpRequest, object_id: str | None = None, form_url: str = "", extra_context: Any = None
    ) -> Any:
        # When this is run again, the form's validation sees what the other transaction has committed.
        view = super().changeform_view
        return self._retry_on_conflict(request, lambda: view(request, object_id, form_url, extra_context))

    def delete_view(self, request: HttpRequest, object_id: str, extra_context: Any = None) -> Any:
        view = super().delete_view
        return self._retry_on_conflict(request, lambda: view(request, object_id, extra_context))

    def message_user(self, request: Any, message: Any, *args: Any, **kwargs: Any) -> None:
        tell = partial(super().message_user, request, message, *args, **kwargs)
        if getattr(request, "untold", None) is None:
            tell()
        else:
            request.untold.append(tell)

    def _retry_on_conflict(self, request: Any, view: Callable[[], Any]) -> Any:
        if request.method != "POST":
            return view()

        def attempt() -> Any:
            request.untold = []
            return view()

        response = retry_on_conflict(attempt, router.db_for_write(self.model))
        for tell in request.untold:  # only the messages of the attempt that was committed
            tell()
        return response
