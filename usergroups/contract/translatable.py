"""Texts that the API shows in English and the admin in the language of the operator."""

from typing import Self

from django.utils.translation import gettext


class TranslatableText(str):
    """An English text that ``translated`` can translate. Mark ``message`` with ``gettext_noop``."""

    message: str
    params: dict[str, object]

    def __new__(cls, message: str, **params: object) -> Self:
        text = super().__new__(cls, message % params)
        text.message, text.params = message, params
        return text


def translated(text: str) -> str:
    """Return a text of the API in the active language, or in English if it has no translation."""
    if isinstance(text, TranslatableText):
        return gettext(text.message) % text.params
    return gettext(text)
