"""The tags of a bookmark, and the model field that stores them."""

from collections.abc import Iterable

from django.core.exceptions import ValidationError
from django.db import models
from django.db.backends.base.base import BaseDatabaseWrapper
from django.utils.translation import gettext as _

from usergroups.db.storable_text import require_storable

from .letter_case import fold
from .web_url import CONTROL_CHARACTER

MAX_TAGS = 50  # of a bookmark
MAX_TAG_LENGTH = 100  # characters


def clean_tag(tag: object) -> str:
    """Return the tag without surrounding white space.

    Raises ValidationError if it is invalid.
    """
    if not isinstance(tag, str):
        code = "null" if tag is None else "invalid"
        raise ValidationError(_("The tag is not a string."), code)
    trimmed = tag.strip()
    if not trimmed:
        raise ValidationError(_("A tag must not be empty."), "blank")
    if len(trimmed) > MAX_TAG_LENGTH:
        text = _("A tag has at most %(max)s characters.")
        raise ValidationError(text % {"max": MAX_TAG_LENGTH}, "max_length")
    if CONTROL_CHARACTER.search(trimmed):
        raise ValidationError(_("The tag has control characters."), "invalid")
    require_storable(trimmed)
    return trimmed


def distinct(tags: Iterable[str]) -> list[str]:
    """Return the tags without those that differ from an earlier one at most in
    letter case.
    """
    by_fold: dict[str, str] = {}
    for tag in tags:
        by_fold.setdefault(fold(tag), tag)
    return list(by_fold.values())


def changed_tags(
    tags: Iterable[str], added: Iterable[str], removed: Iterable[str]
) -> list[str]:
    """Return the tags without those that are removed, in any letter case, and
    with those that are added.

    Raises ValidationError if there are too many.
    """
    folded = {fold(tag) for tag in removed}
    kept = [tag for tag in tags if fold(tag) not in folded]
    changed = distinct([*kept, *added])
    if len(changed) > MAX_TAGS:
        text = _("A bookmark has at most %(max)s tags.")
        raise ValidationError(
            {"tags_add": ValidationError(text % {"max": MAX_TAGS}, "max_length")}
        )
    return changed


def renamed(tags: Iterable[str], tag: str, new: str | None) -> list[str]:
    """Return the tags with another name for one of them, in any letter case,
    or without it if that is None.
    """
    folded = fold(tag)
    names = [new if fold(each) == folded else each for each in tags]
    return distinct(filter(None, names))


def clean_tags(tags: object) -> list[str]:
    """Return the tags as they are stored: trimmed and distinct.

    Raises ValidationError if they are not a list, too many or invalid.
    """
    if not isinstance(tags, list | tuple):
        raise ValidationError(_("Not a list of tags."), "not_a_list")
    if len(tags) > MAX_TAGS:
        text = _("A bookmark has at most %(max)s tags.")
        raise ValidationError(text % {"max": MAX_TAGS}, "max_length")
    return distinct(map(clean_tag, tags))


class TagsField(models.TextField):  # type: ignore[type-arg]
    """A list of tags, stored as text with one tag on each line."""

    def from_db_value(
        self,
        value: str | None,
        expression: models.Expression,
        connection: BaseDatabaseWrapper,
    ) -> list[str] | None:
        # None in an outer join that finds no bookmark
        return None if value is None else tags_of_text(value)

    def to_python(self, value: object) -> list[str]:
        # the text of a fixture
        tags = tags_of_text(value) if isinstance(value, str) else value
        return clean_tags(tags)

    def get_prep_value(self, value: object) -> object:
        # It may also be a text to search for.
        return text_of_tags(value) if isinstance(value, list | tuple) else value

    def value_from_object(self, obj: models.Model) -> str:
        """Return the text that a form shows and a fixture contains."""
        return text_of_tags(super().value_from_object(obj))

    def save_form_data(self, instance: models.Model, data: str | list[str]) -> None:
        # A form may also have taken the tags from the instance.
        tags = tags_of_text(data) if isinstance(data, str) else data
        super().save_form_data(instance, tags)


def text_of_tags(tags: Iterable[str]) -> str:
    """Return the text with one tag on each line."""
    return "\n".join(tags)


def tags_of_text(text: str) -> list[str]:
    """Return the lines of the text that are not blank."""
    return [line for line in text.split("\n") if line.strip()]
