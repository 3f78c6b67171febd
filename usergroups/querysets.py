"""What can be asked of many user groups, and done to them."""

import json
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from django.db.models import CharField, TextField
from django.db.models.functions import Cast, Coalesce, Left, Length
from django.utils import timezone

from .deletion import DeletableQuerySet
from .transactions import retry_on_conflict

if TYPE_CHECKING:
    from .models import ApiToken, UserGroup

JSON_SIZE = Length(Cast("mapping", TextField())) + Coalesce(Length(Cast("properties", TextField())), 0)
"""How many characters of JSON a user group has."""

DELETED = "deleted"
"""The environment of the user groups that are being deleted. No API token has it."""

UNIQUE = ["team", "environment", "provided_id"]
CHANGEABLE = ["name", "mapping", "properties", "updated_at"]


class UserGroupQuerySet(DeletableQuerySet["UserGroup"]):
    def visible_to(self, token: "ApiToken") -> "UserGroupQuerySet":
        return self.filter(**token.scope)

    def named_from(self, beginning: str) -> "UserGroupQuerySet":
        """Those whose name begins with this text, letter case told apart, as SQLite's LIKE does not."""
        return self.alias(beginning=Left("name", len(beginning))).filter(beginning=beginning)

    def change(self, provided_id: str, **changes: Any) -> "UserGroup":
        """Set the fields in ``changes`` and no others; return the group as it stands afterwards.

        Raises UserGroup.DoesNotExist. Writing only what changed lets two calls that change different fields both last.
        """
        groups = self.for_write().filter(provided_id=provided_id)

        def update() -> "UserGroup":
            if changes:
                groups.update(**changes, updated_at=timezone.now())
            return groups.get()

        return retry_on_conflict(update, groups.db)

    def rotate_token(self, provided_id: str) -> "UserGroup":
        """Give the group a new token; the old one is gone. Raises UserGroup.DoesNotExist."""
        return self.change(provided_id, token=self.model._meta.get_field("token").get_default())

    def remove(self, provided_id: str) -> None:
        """Delete the group with all that belongs to it. Raises UserGroup.DoesNotExist."""
        if not self.filter(provided_id=provided_id).delete()[0]:
            raise self.model.DoesNotExist

    def get_or_add(self, provided_id: str, scope: dict[str, Any], fields: dict[str, Any]) -> tuple["UserGroup", bool]:
        """Return the group with this id in ``scope``, its team and environment, and whether it is new.

        A new one has ``fields``, one that is there stays as it is. Raises IntegrityError if the team is gone.
        """
        groups, defaults = self.for_write(), {"name": provided_id, **fields}
        return retry_on_conflict(
            lambda: groups.get_or_create(**scope, provided_id=provided_id, defaults=defaults), using=groups.db
        )

    def answer_size(self, items: Sequence[dict[str, Any]]) -> int:
        """Return how many characters of JSON the answer to ``put(items)`` has at most.

        A group counts as often as it is named.
        """
        times = Counter(item["provided_id"] for item in items)
        stored = self.filter(provided_id__in=times).values_list("provided_id", JSON_SIZE)
        sent = (item for item in items if item.get("properties") and times[item["provided_id"]] > 1)
        size: int = sum(times[key] * size for key, size in stored)
        for item in sent:
            size += times[item["provided_id"]] * len(json.dumps(item["properties"], ensure_ascii=False))
        return size

    def put(self, items: Sequence[dict[str, Any]], scope: dict[str, Any]) -> list[tuple["UserGroup", bool]]:
        """Change or make a group for each item, a dict of ``provided_id`` and fields; return it and whether it is new.

        ``scope`` is the team and environment of all. What an item leaves out stays as it is. Either all items are done
        or none; where several are for one group, the later fields count. Raises IntegrityError if the team is gone.
        """
        groups = self.for_write().filter(**scope)
        wanted: dict[str, dict[str, Any]] = {}
        for item in items:
            wanted.setdefault(item["provided_id"], {}).update(item)
        found, new = retry_on_conflict(lambda: groups._put(wanted, scope), groups.db)
        results = []
        for key in (item["provided_id"] for item in items):
            results.append((found[key], key in new))
            new.discard(key)
        return results

    def _put(self, wanted: dict[str, dict[str, Any]], scope: dict[str, Any]) -> tuple[dict[str, "UserGroup"], set[str]]:
        found, new = self.locked(wanted), set[str]()
        if missing := sorted(wanted.keys() - found.keys()):
            made = [self.model(**scope, **{"name": key, **wanted[key]}) for key in missing]
            # An upsert that changes nothing locks the groups that others have created since the look. To ignore the
            # conflict would leave them unlocked, and a group that is deleted next would be neither found nor created.
            self.bulk_create(made, update_conflicts=True, unique_fields=UNIQUE, update_fields=["provided_id"])
            found |= self.locked(missing)
            tokens = {group.token for group in made}
            new = {key for key in missing if found[key].token in tokens}
        changed = [found[key].assign(wanted[key]) for key in wanted.keys() - new if len(wanted[key]) > 1]
        # The rows are there and locked: this only updates, ten times as fast as bulk_update().
        self.bulk_create(changed, update_conflicts=True, unique_fields=["pk"], update_fields=CHANGEABLE)
        return found, new

    def locked(self, provided_ids: Iterable[str]) -> dict[str, "UserGroup"]:
        """Return those of these groups that there are, by id; until the transaction ends nobody else changes them."""
        groups = self.filter(provided_id__in=provided_ids).select_for_update().order_by("pk")
        return {group.provided_id: group for group in groups}

    def hidden_values(self) -> dict[str, Any]:
        """Make the id free, so that a group with the same one can be created at once."""
        return {**super().hidden_values(), "environment": DELETED, "provided_id": Cast("pk", CharField())}
