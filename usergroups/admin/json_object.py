"""A form's field for a JSON object, by the same rules as in a call."""

import json
from typing import Any

from django import forms
from django.core.exceptions import ValidationError
from rest_framework import serializers

from usergroups.contract import strict_json
from usergroups.contract.errors import failure


def indented(value: Any) -> str:
    return json.dumps(value, indent=2, ensure_ascii=False) if value else ""


class JSONObjectField(forms.CharField):
    """Takes JSON text that ``rule``, the serializer field of the operation, takes; shows it indented."""

    widget = forms.Textarea(attrs={"class": "vLargeTextField json", "rows": 12, "spellcheck": "false"})

    def __init__(self, rule: "serializers.Field[Any, Any, Any, Any]", empty: Any, **kwargs: Any) -> None:
        self.rule, self.empty = rule, empty
        super().__init__(required=False, **kwargs)

    def prepare_value(self, value: Any) -> Any:
        if isinstance(value, str):
            return value
        return indented(value)

    def to_python(self, value: Any) -> Any:
        text = super().to_python(value)
        if not text:
            return self.empty
        try:
            sent = self.rule.run_validation(strict_json.loads(text.encode(errors="surrogatepass")))
        except ValueError as error:
            raise ValidationError(str(error)) from None
        except serializers.ValidationError as error:
            raise ValidationError(
                [f"{p['attr']}: {p['detail']}" if p["attr"] else p["detail"] for p in failure(error)["errors"]]
            ) from None
        return self.empty if sent is None else sent

    def has_changed(self, initial: Any, data: Any) -> bool:
        try:
            return json.dumps(initial or self.empty) != json.dumps(self.to_python(data))  # 1 is not true
        except ValidationError:
            return True
