"""A form's field for a JSON object, by the same rules as in a call."""

import hashlib
import json
from typing import TYPE_CHECKING, Any

from django import forms
from django.core.exceptions import ValidationError
from django.db import models
from rest_framework import serializers

from usergroups.contract import strict_json
from usergroups.contract.errors import failure

MAX_INDENTED = 100_000  # characters

if TYPE_CHECKING:
    ModelForm = forms.ModelForm[models.Model]
else:
    ModelForm = forms.ModelForm


def indented(value: Any) -> str:
    """Return the JSON text of ``value``, for people if it is not too long for them; none for what is empty."""
    if not value:
        return ""
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) > MAX_INDENTED else json.dumps(value, indent=2, ensure_ascii=False)


class Digest(str):
    """Stands for a value in a form that was shown."""

    __slots__ = ()

    @classmethod
    def of(cls, value: Any) -> "Digest":
        return cls(hashlib.sha256(json.dumps(value or None).encode()).hexdigest())  # 1 is not true


class DigestInput(forms.HiddenInput):
    def format_value(self, value: Any) -> Any:
        if isinstance(value, Digest):
            return value
        try:
            return Digest.of(json.loads(value or "null"))
        except ValueError:  # of a form that was sent without it
            return ""

    def value_from_datadict(self, data: Any, files: Any, name: str) -> Digest:
        return Digest(data.get(name) or Digest.of(None))


class JSONObjectFormField(forms.CharField):
    """Takes JSON text that ``rule``, the serializer field of the operation, takes; shows it indented."""

    widget = forms.Textarea(attrs={"class": "vLargeTextField json", "rows": 12, "spellcheck": "false"})
    hidden_widget = DigestInput

    def __init__(self, rule: "serializers.Field[Any, Any, Any, Any]", empty: Any, **kwargs: Any) -> None:
        self.rule, self.empty = rule, empty
        super().__init__(required=False, strip=False, **kwargs)

    def prepare_value(self, value: Any) -> Any:
        return value if isinstance(value, str) else indented(value)

    def to_python(self, value: Any) -> Any:
        if isinstance(value, Digest):
            return value
        text = super().to_python(value) or ""
        if not text.strip(" \t\r\n"):
            return self.empty
        try:
            sent = self.rule.run_validation(strict_json.loads(text.encode(errors="surrogatepass"), depth=1))
        except ValueError as error:
            raise ValidationError(str(error)) from None
        except serializers.ValidationError as error:
            raise ValidationError(
                [f"{p['attr']}: {p['detail']}" if p["attr"] else p["detail"] for p in failure(error)["errors"]]
            ) from None
        return self.empty if sent is None else sent

    def has_changed(self, initial: Any, data: Any) -> bool:
        try:
            sent = Digest.of(self.to_python(data))
        except ValidationError:
            return True
        return sent != (initial if isinstance(initial, Digest) else Digest.of(initial))


class JSONObjectForm(ModelForm):
    """Refuses to write over a JSON object that somebody changed since it was shown."""

    def clean(self) -> None:
        super().clean()
        for name in self.changed_data:
            shown = self.data.get(self.add_initial_prefix(name))
            if isinstance(self.fields[name], JSONObjectFormField) and shown not in (
                None,
                Digest.of(getattr(self.instance, name)),
            ):
                self.add_error(name, "A caller changed this meanwhile. Open the page again to see it.")
