"""Form fields for JSON objects, with the same validation as in the API. Duplicate keys are refused as well."""

import hashlib
import json
from typing import TYPE_CHECKING, Any

from django import forms
from django.core.exceptions import ValidationError
from django.db import models
from django.utils.text import Truncator
from django.utils.translation import gettext as _
from rest_framework import serializers

from usergroups.contract import strict_json
from usergroups.contract.errors import failure

MAX_INDENTED = 100_000  # characters

if TYPE_CHECKING:
    ModelForm = forms.ModelForm[models.Model]
else:
    ModelForm = forms.ModelForm


def indent_json(value: Any) -> str:
    """Return ``value`` as JSON text, indented unless it is very long. Return an empty text for an empty value."""
    if not value:
        return ""
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) > MAX_INDENTED else json.dumps(value, indent=2, ensure_ascii=False)


def refuse_duplicates(pairs: list[tuple[str, Any]]) -> None:
    """Raise ValueError if a key occurs twice in these pairs of keys and values. For use as ``object_pairs_hook``."""
    seen: set[str] = set()
    for key, _value in pairs:
        if key in seen:
            text = json.dumps(key, ensure_ascii=False)
            raise ValueError(_("The key %(key)s occurs more than once.") % {"key": Truncator(text).chars(80)})
        seen.add(key)


class Digest(str):
    """A hash of the value that a form was rendered with, to detect changes made since then."""

    __slots__ = ()

    @classmethod
    def of(cls, value: Any) -> "Digest":
        # Hash the JSON text, because 1 == True in Python.
        return cls(hashlib.sha256(json.dumps(value or None).encode()).hexdigest())


class DigestInput(forms.HiddenInput):
    """A hidden input that sends the hash of the initial value in place of the value."""

    def format_value(self, value: Any) -> Any:
        if isinstance(value, Digest):
            return value
        try:
            return Digest.of(json.loads(value or "null"))
        except (ValueError, RecursionError):  # The form was sent without the hidden input.
            return ""

    def value_from_datadict(self, data: Any, files: Any, name: str) -> Digest:
        return Digest(data.get(name) or Digest.of(None))


class JSONObjectFormField(forms.CharField):
    """A text field for JSON, validated by the field of the API's serializer. An empty text gives ``empty``."""

    widget = forms.Textarea(attrs={"class": "vLargeTextField json", "rows": 12, "spellcheck": "false", "dir": "ltr"})
    hidden_widget = DigestInput

    def __init__(self, serializer_field: "serializers.Field[Any, Any, Any, Any]", empty: Any, **kwargs: Any) -> None:
        self.serializer_field, self.empty = serializer_field, empty
        super().__init__(required=False, strip=False, **kwargs)

    def prepare_value(self, value: Any) -> Any:
        return value if isinstance(value, str) else indent_json(value)

    def to_python(self, value: Any) -> Any:
        if isinstance(value, Digest):
            return value
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
        try:
            digest = Digest.of(self.to_python(data))
        except ValidationError:
            return True
        return digest != (initial if isinstance(initial, Digest) else Digest.of(initial))


class JSONObjectForm(ModelForm):
    """A model form that does not overwrite a JSON object which has changed since the form was rendered."""

    def clean(self) -> None:
        super().clean()
        for name in self.changed_data:
            initial = self.data.get(self.add_initial_prefix(name))
            if not isinstance(self.fields[name], JSONObjectFormField) or initial is None:
                continue
            if initial != Digest.of(getattr(self.instance, name)):
                text = _("This value changed while you were editing it. Reload the page to see it.")
                self.add_error(name, text)
