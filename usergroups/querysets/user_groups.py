"""The queryset of user groups."""

from collections.abc import Sequence
from datetime import datetime
from functools import cache
from typing import TYPE_CHECKING, Any

from django.db.models.functions import Left
from django.utils import timezone

from usergroups import signals
from usergroups.statements import Update, parameters
from usergroups.transactions import retry_on_conflict

from .batches import UserGroupBatchQuerySet

if TYPE_CHECKING:
    from usergroups.models import ApiToken, UserGroup


class UserGroupQuerySet(UserGroupBatchQuerySet):
    """Reads and writes user groups by ``provided_id``, the id that the client assigned."""

    def visible_to(self, token: "ApiToken") -> "UserGroupQuerySet":
        """Filter groups that the token gives access to."""
        return self.filter(**token.scope)

    def matching(self, *, updated_since: datetime | None = None, name: str = "") -> "UserGroupQuerySet":
        """Filter groups that were updated at this time or later, and whose name begins with this text."""
        groups = self
        if updated_since:
            groups = groups.filter(updated_at__gte=updated_since)
        if name:  # by comparison, since LIKE ignores the letter case on SQLite
            groups = groups.alias(beginning=Left("name", len(name))).filter(beginning=name)
        return groups

    def change(self, provided_id: str, versions: Sequence[datetime] | None = None, **changes: Any) -> "UserGroup":
        """Update the fields in ``changes`` and return the group. Raises UserGroup.DoesNotExist or Modified.

        Other fields are not written, so that concurrent updates of different fields all take effect.
        """
        groups = self.for_write().filter(provided_id=provided_id)
        return retry_on_conflict(lambda: groups.update_version(versions, **changes), groups.db)

    def change_in_scope(
        self,
        scope: dict[str, Any],
        provided_id: str,
        versions: Sequence[datetime] | None = None,
        **changes: Any,
    ) -> "UserGroup":
        """Do the same as ``filter(**scope).change(...)``, mostly by a statement that is compiled once.

        The mapping is not read, because the response to an update lacks it. This is for the manager: the filters of a
        queryset are ignored.
        """
        if not changes or versions is not None:
            return self.filter(**scope).change(provided_id, versions, **changes)
        using = self.db_for_write
        update = _update(type(self), self.model, using, (*scope, "provided_id"), (*changes,))

        def change() -> "UserGroup":
            now = timezone.now()
            updated = update(**scope, provided_id=provided_id, **changes, updated_at=now)
            if not updated:
                raise self.model.DoesNotExist
            if updated[0].updated_at == now:
                signals.announce_update(updated, using, changes)
            return updated[0]

        return retry_on_conflict(change, using, atomic=False)

    def get_by_token(self, token: str) -> "UserGroup":
        """Return the group with this user group token, which may be any text. Raises UserGroup.DoesNotExist."""
        if not token.isprintable():  # PostgreSQL refuses U+0000 and lone surrogates
            raise self.model.DoesNotExist
        return self.get(token=token)

    def rotate_token(self, provided_id: str) -> "UserGroup":
        """Replace the group's token and return the group. Raises UserGroup.DoesNotExist."""
        groups = self.for_write().filter(provided_id=provided_id)

        def rotate() -> "UserGroup":
            group = groups.update_version(None, token=self.model._meta.get_field("token").get_default())
            signals.announce(signals.rotated, [group], groups.db)
            return group

        return retry_on_conflict(rotate, groups.db)

    def remove(self, provided_id: str, versions: Sequence[datetime] | None = None) -> None:
        """Delete the group and its dependants.

        Raises UserGroup.DoesNotExist, Modified or, unlike ``delete()``, TooManyDependants.
        """
        self.for_write().filter(provided_id=provided_id).delete_version(versions)

    def get_or_add(self, provided_id: str, scope: dict[str, Any], fields: dict[str, Any]) -> tuple["UserGroup", bool]:
        """Return the group with this id, and whether it was created with ``fields``.

        ``scope`` is the team and environment. Raises IntegrityError if the team is deleted.
        """
        groups, defaults = self.for_write(), {"name": provided_id, **fields}
        return retry_on_conflict(
            lambda: groups.get_or_create(**scope, provided_id=provided_id, defaults=defaults), using=groups.db
        )


@cache
def _update(
    queryset: type[UserGroupQuerySet], model: "type[UserGroup]", using: str, key: Sequence[str], changes: Sequence[str]
) -> "Update[UserGroup]":
    """Return the statement that sets the fields ``changes`` of the group with these values of the fields ``key``."""
    groups = queryset(model, using=using).filter(**parameters(model, *key))
    return Update(groups, *changes, deferred=["mapping"])
