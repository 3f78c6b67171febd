"""Text that PostgreSQL can store."""

from django.core.exceptions import ValidationError
from django.utils.translation import gettext as _


def require_storable(text: str) -> None:
    """Raise ValidationError for text that PostgreSQL cannot store.

    The codes are those of DRF's validators of CharField.
    """
    if "\0" in text:
        reason = _("Text must not contain U+0000.")
        raise ValidationError(reason, "null_characters_not_allowed")
    try:
        text.encode()
    except UnicodeEncodeError:
        reason = _("Text must not contain lone surrogates.")
        raise ValidationError(reason, "surrogate_characters_not_allowed") from None
