"""Forms that keep what other operators and API clients change meanwhile, and that edit JSON."""

import json
import re
from typing import TYPE_CHECKING, Any, ClassVar

from django import forms
from django.core.exceptions import ValidationError
from django.db import models
from django.utils.formats import localize
from django.utils.text import Truncator
from django.utils.translation import gettext as _
from rest_framework import serializers

from usergroups.contract import strict_json
from usergroups.contract.errors import failure

if TYPE_CHECKING:
    ModelForm = forms.ModelForm[models.Model]
else:
    ModelForm = forms.ModelForm

MAX_INDENTED = 100_000  # characters
MAX_QUOTED = 1_000  # characters of a value in an error


def indent_json(value: Any) -> str:
    """Return ``value`` as JSON text, indented unless it is very long. Return an empty text for an empty value."""
    if not value:
        return ""
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) > MAX_INDENTED else json.dumps(value, indent=2, ensure_ascii=False)


class SingleLineField(forms.CharField):
    """A text input that keeps line breaks in the stored text, although browsers remove them from the input."""

    def has_changed(self, initial: Any, data: Any) -> bool:
        return super().has_changed(initial, data) and re.sub("[\r\n]", "", initial or "") != data


class JSONObjectFormField(forms.CharField):
    """A text field for JSON, validated by the field of the API's serializer. An empty text gives ``empty``.

    Duplicate keys are refused as well.
    """

    widget = forms.Textarea(attrs={"class": "vLargeTextField json", "rows": 12, "spellcheck": "false", "dir": "ltr"})

    def __init__(self, serializer_field: "serializers.Field[Any, Any, Any, Any]", empty: Any, **kwargs: Any) -> None:
        self.serializer_field, self.empty = serializer_field, empty
        super().__init__(required=False, strip=False, **kwargs)

    def prepare_value(self, value: Any) -> Any:
        return value if isinstance(value, str) else indent_json(value)

    def to_python(self, value: Any) -> Any:
        text = super().to_python(value) or ""
        if not text.strip(" \t\r\n"):
            return self.empty
        try:
            json_value = strict_json.loads(text.encode(errors="surrogatepass"), depth=1)
            # In a call, the last one of duplicate keys wins. A person who typed a key twice has made a mistake.
            json.loads(text, object_pairs_hook=refuse_duplicates)
            value = self.serializer_field.run_validation(json_value)
        except ValueError as error:
            raise ValidationError(str(error)) from None
        except serializers.ValidationError as error:
            raise ValidationError(
                [": ".join(filter(None, [p["attr"], _(p["detail"])])) for p in failure(error)["errors"]]
            ) from None
        return self.empty if value is None else value

    def has_changed(self, initial: Any, data: Any) -> bool:
        if data is None:  # The form was sent without the field.
            return False
        try:
            # Compare the JSON text, because 1 == True in Python.
            return json.dumps(self.to_python(data) or None) != json.dumps(initial or None)
        except ValidationError:
            return True


def refuse_duplicates(pairs: list[tuple[str, Any]]) -> None:
    """Raise ValueError if a key occurs twice in these pairs of keys and values. For use as ``object_pairs_hook``."""
    seen: set[str] = set()
    for key, _value in pairs:
        if key in seen:
            text = json.dumps(key, ensure_ascii=False)
            raise ValueError(_("The key %(key)s occurs more than once.") % {"key": Truncator(text).chars(80)})
        seen.add(key)


class OperatorForm(ModelForm):
    """Refuse a field that somebody else changed after the form was opened, and show both values.

    The form contains the values that it was opened with. It can be sent again to replace the other change.
    """

    data: Any
    restored: ClassVar[dict[str, Any]] = {}
    """Former values of fields that the form begins with."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        for name in self.restored.keys() & self.fields.keys():
            self.initial[name] = self.restored[name]
            self.fields[name].show_hidden_initial = False  # Otherwise the value would count as unchanged.

    def clean(self) -> None:
        super().clean()
        unchecked = [name for name in self.changed_data if name not in self.errors]
        for name in [name for name in unchecked if self.has_conflict(name)]:
            current = self.display(name, self[name].field.prepare_value(self[name].initial))
            text = _("This may have changed while you were editing. It is now “%(value)s”. Save again to replace it.")
            self.add_error(name, text % {"value": Truncator(current).chars(MAX_QUOTED)})
            self.data = self.data.copy()
            self.begin_with_current(name)

    def has_conflict(self, name: str) -> bool:
        """Return whether the stored value is neither the one that the form was opened with nor the one entered."""
        bound = self[name]
        hidden = bound.field.hidden_widget()
        if hidden.value_omitted_from_data(self.data, self.files, bound.html_initial_name):
            return False
        opened_with = hidden.value_from_datadict(self.data, self.files, bound.html_initial_name)
        return all(bound.field.has_changed(bound.initial, value) for value in (opened_with, bound.data))

    def display(self, name: str, value: Any) -> str:
        rows: Any = getattr(self.fields[name], "queryset", None)
        if rows is not None:
            value = rows.filter(pk=value).first() if value else None
        return "-" if value in (None, "") else str(localize(value))

    def begin_with_current(self, name: str) -> None:
        """Let the form that shows the error contain the stored value, so that it can be sent again."""
        bound = self[name]
        hidden = bound.field.hidden_widget()
        self.data[bound.html_initial_name] = hidden.format_value(bound.field.prepare_value(bound.initial)) or ""


class VersionField(forms.CharField):
    """A hidden field with the time at which the row was changed last."""

    widget = forms.HiddenInput

    def has_changed(self, initial: Any, data: Any) -> bool:
        return False


class JSONObjectForm(OperatorForm):
    """A form with JSON objects, which are too large to be in it twice. It contains the version of the row instead."""

    version = VersionField(required=False)

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if self.instance.pk:
            self.initial["version"] = self.instance.updated_at.isoformat()  # type: ignore[attr-defined]

    def has_conflict(self, name: str) -> bool:
        if not isinstance(self.fields[name], JSONObjectFormField):
            return super().has_conflict(name)
        return self.data.get(self.add_prefix("version")) not in (None, self.initial.get("version"))

    def begin_with_current(self, name: str) -> None:
        if isinstance(self.fields[name], JSONObjectFormField):
            self.data[self.add_prefix("version")] = self.initial["version"]
        else:
            super().begin_with_current(name)
