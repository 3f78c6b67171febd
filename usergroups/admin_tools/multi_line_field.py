"""The form field for text with several lines."""

from typing import Any

from django import forms


class MultiLineField(forms.CharField):
    """A text with line feeds, although browsers send two characters for each
    line break.
    """

    def to_python(self, value: Any) -> Any:
        text = super().to_python(value) or ""
        return text.replace("\r\n", "\n").replace("\r", "\n")

    def has_changed(self, initial: Any, data: Any) -> bool:
        # The stored text may have line breaks of another kind.
        return super().has_changed(self.to_python(initial), data)
