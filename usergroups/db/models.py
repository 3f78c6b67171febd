"""The base classes of models whose writes are announced."""

from collections.abc import Iterable
from typing import Any

from django.core.validators import MaxLengthValidator
from django.db import models, router
from django.db.models.signals import post_save
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from .announcements import announce_save

MAX_NOTES_LENGTH = 2_000
"""The maximum number of characters of notes.

Calls load them with the rows.
"""


class WritingModel(models.Model):
    """A model whose writes are announced by signals.

    Its manager is made from a WritingQuerySet.
    """

    class Meta:
        abstract = True

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        post_save.connect(announce_save, sender=cls)

    def validate_fields(self, names: Iterable[str]) -> None:
        """Raise ValidationError if a value of these fields is invalid, because
        SQLite would store text of any length. Foreign keys are not checked.
        """
        checked = set(names)
        not_checked = {
            field.name
            for field in self._meta.concrete_fields
            if field.name not in checked or field.is_relation
        }
        self.clean_fields(exclude=not_checked)

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

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        # The two defaults of a new row differ by some microseconds. Django
        # passes ``args`` for a row that it loads.
        if not args and kwargs.keys().isdisjoint(("created_at", "updated_at")):
            self.updated_at = self.created_at
