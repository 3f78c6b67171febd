"""The base classes of models whose writes are announced."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from django.core.exceptions import ValidationError
from django.core.validators import MaxLengthValidator
from django.db import models, router
from django.db.models.signals import post_save
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from .announcements import announce_save
from .same_values import is_same
from .storable_text import require_storable

MAX_NOTES_LENGTH = 2_000
"""The maximum number of characters of notes.

Calls load them with the rows.
"""


def cleaned_value(field: Any, value: Any) -> Any:
    """Return the value as the field stores it.

    Raises ValidationError if it is invalid. Unlike ``field.clean()``, this
    does not convert a value of another type, such as a number to text.
    """
    cleaned = value
    if field.is_relation:
        has_type = value is None or isinstance(value, field.related_model)
    else:
        try:
            cleaned = field.clean(value, None)
        # DateTimeField raises it for a number.
        except TypeError:
            cleaned = None
        has_type = type(value) is type(cleaned)
    is_naive = isinstance(value, datetime) and timezone.is_naive(value)
    # Django does not check whether a field that is not editable is null.
    is_null = value is None and not field.null
    if is_null or is_naive or not has_type:
        raise ValidationError("The value has the wrong type.", "invalid")
    if isinstance(value, str):
        require_storable(value)
    return cleaned


class WritingModel(models.Model):
    """A model whose writes are announced by signals.

    Its manager is made from a WritingQuerySet.
    """

    class Meta:
        abstract = True

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        post_save.connect(announce_save, sender=cls)

    @classmethod
    def cleaned_values(cls, values: Mapping[str, Any]) -> dict[str, Any]:
        """Return the values of these fields as they are stored.

        Raises ValidationError with the errors of each field. The methods of
        managers call this before they write, so that they refuse what a call
        refuses, and what a validator of a field refuses that a host has added.
        """
        cleaned = {}
        errors = {}
        for name, value in values.items():
            field = cls._meta.get_field(name)
            # the key of a foreign key
            if name != field.name:
                cleaned[name] = value
                continue
            try:
                cleaned[name] = cleaned_value(field, value)
            except ValidationError as error:
                errors[name] = error
        if errors:
            raise ValidationError(errors)
        return cleaned

    def delete(
        self, using: str | None = None, keep_parents: bool = False
    ) -> tuple[int, dict[str, int]]:
        """Delete this row as ``WritingQuerySet.delete()`` does."""
        model = type(self)
        alias = using or router.db_for_write(model, instance=self)
        return model._default_manager.using(alias).filter(pk=self.pk).delete()


class NotedModel(WritingModel):
    """A model whose rows have notes that only operators read.

    They are in no response of the API, in no export and in no signal.
    """

    notes = models.TextField(
        _("notes"),
        max_length=MAX_NOTES_LENGTH,
        # A TextField checks its length only in forms.
        validators=[MaxLengthValidator(MAX_NOTES_LENGTH)],
        default="",
        db_default="",
        blank=True,
        help_text=_("For operators only. Applications do not see the notes."),
    )

    class Meta:
        abstract = True


class DatedModel(WritingModel):
    """A model whose rows have the times of their creation and of their last
    change, which are equal at first.
    """

    created_at = models.DateTimeField(
        _("created"), default=timezone.now, editable=False
    )
    updated_at = models.DateTimeField(
        _("updated"), default=timezone.now, editable=False
    )

    class Meta:
        abstract = True

    def __init__(self, *args: object, **kwargs: object) -> None:
        super().__init__(*args, **kwargs)
        # The two defaults of a new row differ by some microseconds. Django
        # passes ``args`` for a row that it loads.
        if not args and kwargs.keys().isdisjoint(("created_at", "updated_at")):
            self.updated_at = self.created_at

    def assign(self, values: Mapping[str, object], now: datetime) -> frozenset[str]:
        """Set these fields without saving the instance, and return the names
        of those that change. If any does, set ``updated_at``.
        """
        changed = set()
        for name, value in values.items():
            field: Any = self._meta.get_field(name)
            # Compare the values to store.
            before = field.pre_save(self, add=False)
            setattr(self, name, value)
            if is_same(field, before, field.pre_save(self, add=False)):
                # The stored JSON may have its keys in another order.
                setattr(self, field.attname, before)
            else:
                changed.add(name)
        if changed:
            self.updated_at = now
        return frozenset(changed)
