"""Form fields for single lines, several lines and JSON, and the validation of
single values.
"""

import json
import re
from collections.abc import Iterable
from typing import Any, TypeAlias, TypeVar

from django import forms
from django.core.exceptions import ValidationError
from django.db import models
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from rest_framework import serializers

from usergroups.api import strict_json
from usergroups.api.errors import failure
from usergroups.db.storable_text import MAX_DEPTH, require_storable_json

# Django's classes are generic only in their type stubs.
ModelField: TypeAlias = "models.Field[object, object]"
ForeignKey: TypeAlias = "models.ForeignKey[object, object]"

T = TypeVar("T")

MAX_INDENTED = 100_000  # characters of JSON


def indent_json(value: object) -> str:
    """Return ``value`` as JSON text, indented unless it is very long.

    Return an empty text for an empty value.
    """
    if not value:
        return ""
    text = json.dumps(value, ensure_ascii=False)
    if len(text) > MAX_INDENTED:
        return text
    return json.dumps(value, indent=2, ensure_ascii=False)


def is_valid_value(field: ModelField, value: object) -> bool:
    """Return whether ``value``, as sent in a request, is valid for the model
    field.
    """
    try:
        field.clean(value, None)
    except ValidationError:
        return False
    return True


def valid_values(field: ModelField, values: Iterable[T]) -> list[T]:
    """Return the values, as sent in a request, that are valid for the model
    field.
    """
    return [value for value in values if is_valid_value(field, value)]


def choice_with_key(
    field: "forms.ModelChoiceField[models.Model]", key: object
) -> models.Model | None:
    """Return the row with this key if the form field offers it."""
    choices: models.QuerySet[models.Model] = field.queryset  # type: ignore[assignment]
    return choices.filter(pk=key).first()


class SingleLineField(forms.CharField):
    """A text input that keeps line breaks in the stored text, although
    browsers remove them from the input.
    """

    def has_changed(self, initial: str | None, data: str | None) -> bool:
        if not super().has_changed(initial, data):
            return False
        # What the browser sends if nobody edits the text. It removes line
        # breaks from an input of one line.
        unedited = re.sub("[\r\n]", "", initial or "")
        return unedited != data


class MultiLineField(forms.CharField):
    """A text whose lines end with line feeds, although browsers send two
    characters for each line break.
    """

    def to_python(self, value: object) -> str:
        text = super().to_python(value) or ""
        return text.replace("\r\n", "\n").replace("\r", "\n")

    def has_changed(self, initial: object, data: object) -> bool:
        # The stored text may have line breaks of another kind.
        return super().has_changed(self.to_python(initial), data)


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
            # what the script shows while the text is typed
            "data-invalid": gettext_lazy("Not valid JSON yet."),
        }
    )

    def __init__(
        self,
        serializer_field: "serializers.Field[object, object, object, object]",
        empty: object,
        **kwargs: Any,
    ) -> None:
        self.serializer_field = serializer_field
        self.empty = empty
        super().__init__(required=False, strip=False, **kwargs)

    def prepare_value(self, value: object) -> str:
        # The form shows a text that was entered and refused as it is.
        if isinstance(value, str):
            return value
        return indent_json(value)

    def to_python(self, value: object) -> Any:
        """Decode and validate the text as the API does."""
        text = super().to_python(value) or ""
        if not text.strip(" \t\r\n"):
            return self.empty
        try:
            # Decode it as the API does, where it is one level deep in the body.
            # A lone surrogate becomes bytes that are not UTF-8, an error.
            encoded = text.encode(errors="surrogatepass")
            decoded = strict_json.decode(encoded)
            require_storable_json(decoded, MAX_DEPTH - 1)
            validated = self.serializer_field.run_validation(decoded)
        except json.JSONDecodeError as error:
            problem = _("Line %(line)s is not valid JSON at character %(column)s.")
            place = {"line": error.lineno, "column": error.colno}
            raise ValidationError(problem % place) from None
        except ValueError as error:
            raise ValidationError(str(error)) from None
        except serializers.ValidationError as error:
            raise ValidationError(_error_texts(error)) from None
        if validated is None:
            return self.empty
        return validated

    def has_changed(self, initial: object, data: object) -> bool:
        try:
            entered = self.to_python(data)
        except ValidationError:
            return True
        # The form shows {} and null alike, as an empty text.
        if not entered and not initial:
            return False
        # Compare the JSON text, because 1 == True in Python.
        return json.dumps(entered) != json.dumps(initial)


def _error_texts(error: serializers.ValidationError) -> list[str]:
    """Return the errors as translated text, each after its path, if any."""
    texts = []
    for problem in failure(error)["errors"]:
        text = _(problem["detail"])
        if problem["attr"]:
            text = f"{problem['attr']}: {text}"
        texts.append(text)
    return texts
