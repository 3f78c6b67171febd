"""Model fields: the digest of a URL, and a foreign key within a user group."""

from typing import Any

from django.db import models

from . import web_url


class URLDigestField(models.BinaryField):  # type: ignore[type-arg]
    """The digest of the row's ``url``, computed by save() and bulk_create().

    A queryset's update() does not compute it. To change a URL, use ``BookmarkQuerySet.change``.
    """

    def pre_save(self, model_instance: models.Model, add: bool) -> bytes:
        digest = web_url.digest(model_instance.url)  # type: ignore[attr-defined]
        setattr(model_instance, self.attname, digest)
        return digest


class SameGroupForeignKey(models.ForeignKey):  # type: ignore[type-arg]
    """A foreign key to a row of the same user group. Its joins also compare the user groups.

    Citus joins distributed tables only if the join compares the column by which they are distributed. This column also
    limits a join to one partition of PostgreSQL. Migrations contain an ordinary foreign key.

    This overrides a method that Django has for subclasses but does not document. It is the same in Django 5.2 to 6.1.
    Remove this class when Django's own ForeignObject can have a column in common with another foreign key.
    """

    def get_joining_fields(self, reverse_join: bool = False) -> tuple[Any, ...]:
        user_groups = [model._meta.get_field("user_group") for model in (self.model, self.related_model)]
        return (
            *super().get_joining_fields(reverse_join),
            tuple(reversed(user_groups) if reverse_join else user_groups),
        )

    def deconstruct(self) -> Any:
        name, _, args, kwargs = super().deconstruct()
        return name, "django.db.models.ForeignKey", args, kwargs
