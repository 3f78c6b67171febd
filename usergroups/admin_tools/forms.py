"""Forms that detect concurrent changes, fields for JSON and related rows, and
the values that the history keeps.
"""

import json
import re
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlencode

from django import forms
from django.contrib import admin
from django.contrib.admin import widgets
from django.core.exceptions import ValidationError
from django.db import models, router
from django.utils.text import Truncator
from django.utils.translation import gettext as _
from rest_framework import serializers

from usergroups.api import strict_json
from usergroups.api.errors import failure

MAX_INDENTED = 100_000  # characters of JSON
MAX_QUOTED = 1_000  # characters of the stored value in an error
# characters of the old and the new value of a field in the history, as JSON
MAX_KEPT = 50_000


def indent_json(value: Any) -> str:
    """Return ``value`` as JSON text, indented unless it is very long.

    Return an empty text for an empty value.
    """
    if not value:
        return ""
    text = json.dumps(value, ensure_ascii=False)
    return (
        text
        if len(text) > MAX_INDENTED
        else json.dumps(value, indent=2, ensure_ascii=False)
    )


def is_valid_value(field: "models.Field[Any, Any]", value: object) -> bool:
    """Return whether ``value``, as sent in a request, is valid for the model
    field.
    """
    try:
        field.clean(value, None)
    except ValidationError:
        return False
    return True


class SingleLineField(forms.CharField):
    """A text input that keeps line breaks in the stored text, although
    browsers remove them from the input.
    """

    def has_changed(self, initial: Any, data: Any) -> bool:
        return (
            super().has_changed(initial, data)
            and re.sub("[\r\n]", "", initial or "") != data
        )


class AutocompleteSelect(widgets.AutocompleteSelect):
    """Django's widget with an accessible name and extra query parameters, and
    without queries for malformed values.
    """

    query_params: dict[str, Any] = {}
    """Parameters of the autocomplete URL, by which ``get_search_results()`` of
    the related model's admin can filter.
    """

    @property
    def media(self) -> forms.Media:
        return super().media + forms.Media(
            js=["admin/js/autocomplete.js", "usergroups/autocomplete.js"]
        )

    def get_url(self) -> str:
        return (
            f"{super().get_url()}?{urlencode(self.query_params)}"
            if self.query_params
            else super().get_url()
        )

    def optgroups(self, name: str, value: Any, attrs: Any = None) -> Any:
        # Django's widget queries for every submitted value, and raises an
        # error for malformed ones.
        target = self.field.target_field
        return super().optgroups(
            name, [key for key in value if is_valid_value(target, key)], attrs
        )


def required_relations(model: Any) -> Iterator[str]:
    """Yield the lookups of a model's required foreign keys.

    Those of the models that they refer to follow, because the names of rows
    show them. ``select_related()`` without names is deprecated.
    """
    for field in model._meta.fields:
        if field.many_to_one and not field.null:
            yield field.name
            for lookup in required_relations(field.related_model):
                yield f"{field.name}__{lookup}"


def autocomplete_field(field: Any, admin_site: admin.AdminSite, **kwargs: Any) -> Any:
    """Return a form field for a foreign key, with autocompletion.

    It reads the rows from the database for writes.
    """
    model = field.remote_field.model
    rows = model._default_manager.using(router.db_for_write(model))
    related = list(required_relations(model))
    if related:
        rows = rows.select_related(*related)
    return field.formfield(
        queryset=rows,
        widget=AutocompleteSelect(field, admin_site, using=rows.db),
        **kwargs,
    )


class JSONObjectFormField(forms.CharField):
    """A text field for JSON, validated by the field of the API's serializer.

    An empty text gives ``empty``.
    """

    widget = forms.Textarea(
        attrs={
            "class": "vLargeTextField json",
            "rows": 12,
            "spellcheck": "false",
            "dir": "ltr",
        }
    )

    def __init__(
        self,
        serializer_field: "serializers.Field[Any, Any, Any, Any]",
        empty: Any,
        **kwargs: Any,
    ) -> None:
        self.serializer_field, self.empty = serializer_field, empty
        super().__init__(required=False, strip=False, **kwargs)

    def prepare_value(self, value: Any) -> Any:
        return value if isinstance(value, str) else indent_json(value)

    def to_python(self, value: Any) -> Any:
        text = super().to_python(value) or ""
        if not text.strip(" \t\r\n"):
            return self.empty
        try:
            # as a field of an API body
            json_value = strict_json.loads(text.encode(errors="surrogatepass"), depth=1)
            value = self.serializer_field.run_validation(json_value)
        except ValueError as error:
            raise ValidationError(str(error)) from None
        except serializers.ValidationError as error:
            problems = failure(error)["errors"]
            raise ValidationError(
                [": ".join(filter(None, [p["attr"], _(p["detail"])])) for p in problems]
            ) from None
        return self.empty if value is None else value

    def has_changed(self, initial: Any, data: Any) -> bool:
        try:
            # Compare the JSON text, because 1 == True in Python.
            return json.dumps(self.to_python(data) or None) != json.dumps(
                initial or None
            )
        except ValidationError:
            return True


class OperatorForm(forms.ModelForm):  # type: ignore[type-arg]
    """A form that refuses to change a field that somebody else changed after
    it was opened, and shows both values.

    Hidden inputs have the values that it was opened with. Saving the refused
    form again replaces the other change.
    """

    data: Any

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        for field in self.fields.values():
            # Compare the input with the value that the form was rendered with,
            # not with the current one.
            field.show_hidden_initial = not self.instance._state.adding

    def clean(self) -> None:
        super().clean()
        for name in [name for name in self.changed_data if name not in self.errors]:
            bound, hidden = self[name], self.fields[name].hidden_widget()
            opened_with = hidden.value_from_datadict(
                self.data, self.files, bound.html_initial_name
            )
            # A conflict: the stored value is neither the one that the form was
            # opened with nor the one entered.
            if opened_with is not None and all(
                bound.field.has_changed(bound.initial, value)
                for value in (opened_with, bound.data)
            ):
                self.refuse(name, bound.field.prepare_value(bound.initial))
        if not self.instance._state.adding:
            # Somebody else may have changed the fields that this user did not.
            # Take their stored values, so that these are validated together
            # with the changed ones, and are in the signal and in the text of
            # the history.
            for name in self.cleaned_data.keys() - set(self.changed_data):
                self.cleaned_data[name] = getattr(
                    self.instance, name, self.cleaned_data[name]
                )

    def refuse(self, name: str, current: Any) -> None:
        """Add an error that shows the stored value, and let the user replace
        this value by saving again.
        """
        rows = getattr(self.fields[name], "queryset", None)
        shown = current if rows is None else rows.filter(pk=current).first()
        quoted = Truncator(str(shown or "-")).chars(MAX_QUOTED)
        text = _(
            "This may have changed while you were editing. It is now “%(value)s”. Save "
            "again to replace it."
        )
        self.add_error(name, text % {"value": quoted})
        self.open_with(name, current)

    def open_with(self, name: str, current: Any) -> None:
        """Render ``current`` as the value that the field was opened with,
        which the next input is compared with.
        """
        self.data = self.data.copy()
        self.data[self.add_initial_prefix(name)] = (
            self.fields[name].hidden_widget().format_value(current) or ""
        )


def changed_values(form: forms.BaseForm) -> dict[str, Any]:
    """Return what the history keeps: ``{name: [old, new]}`` of changed fields,
    with ``[None, None]`` if too long.
    """
    values: dict[str, Any] = {}
    for name in form.changed_data:
        pair = [
            _kept(form.fields[name], value)
            for value in (form.initial.get(name), form.cleaned_data.get(name))
        ]
        values[name] = pair if len(json.dumps(pair)) <= MAX_KEPT else [None, None]
    return values


def kept_row(row: models.Model | None) -> dict[str, str] | None:
    """Return what an entry of the history keeps of a related row."""
    return {"key": str(row.pk), "text": str(row)} if row else None


def _kept(field: Any, value: Any) -> Any:
    if hasattr(field, "queryset"):
        return kept_row(field.queryset.filter(pk=getattr(value, "pk", value)).first())
    return value if isinstance(value, dict | str | int | None) else str(value)
