"""The bulk operations of the queryset of user groups."""

import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from django.db.models.functions import Coalesce, Length

from usergroups import signals
from usergroups.transactions import WritingQuerySet, retry_on_conflict

if TYPE_CHECKING:
    from usergroups.models import UserGroup

JSON_SIZE = Length("mapping") + Coalesce(Length("properties"), 0)
"""The size of a user group's mapping and properties as JSON, in characters."""

UNIQUE_FIELDS = ["team", "environment", "provided_id"]
UPDATABLE_FIELDS = ["name", "mapping", "properties", "updated_at"]


class UserGroupBatchQuerySet(WritingQuerySet["UserGroup"]):
    """Updates or creates many user groups with a few queries."""

    def estimate_upsert_size(self, items: Sequence[dict[str, Any]]) -> int:
        """Estimate the size of the groups that ``upsert(items)`` will return, in characters of stored JSON.

        A group counts once for each of its items. New properties of a group that occurs once are not counted, because
        the request body already limits them.
        """
        times = Counter(item["provided_id"] for item in items)
        stored = self.for_write().filter(provided_id__in=times).values_list("provided_id", JSON_SIZE)
        repeated = (item for item in items if item.get("properties") and times[item["provided_id"]] > 1)
        size: int = sum(times[key] * size for key, size in stored)
        for item in repeated:
            size += times[item["provided_id"]] * len(json.dumps(item["properties"], ensure_ascii=False))
        return size

    def upsert(self, items: Sequence[dict[str, Any]], scope: dict[str, Any]) -> list[tuple["UserGroup", bool]]:
        """Update or create a group for each item. Return the groups, and whether each was created.

        An item is a dict of ``provided_id`` and any other fields; ``scope`` is the team and environment of all items.
        If several items have the same id, later values override earlier ones. Either all items are stored or none.
        Raises IntegrityError if the team is deleted.
        """
        groups = self.for_write().filter(**scope)
        wanted: dict[str, dict[str, Any]] = {}
        for item in items:
            wanted.setdefault(item["provided_id"], {}).update(item)
        stored, created = retry_on_conflict(lambda: groups._upsert(wanted, scope), groups.db)
        results = []
        for key in (item["provided_id"] for item in items):
            results.append((stored[key], key in created))
            created.discard(key)
        return results

    def _upsert(
        self, wanted: dict[str, dict[str, Any]], scope: dict[str, Any]
    ) -> tuple[dict[str, "UserGroup"], set[str]]:
        stored, created = self.locked(wanted), set[str]()
        if missing := sorted(wanted.keys() - stored.keys()):
            new = [self.model(**scope, **{"name": key, **wanted[key]}) for key in missing]
            # Other transactions may have created some of these groups by now. An upsert that changes nothing locks
            # them; ignore_conflicts would not, and the next query would not find a group that is deleted meanwhile.
            self.bulk_create(new, update_conflicts=True, unique_fields=UNIQUE_FIELDS, update_fields=["provided_id"])
            stored |= self.locked(missing)
            tokens = {group.token for group in new}
            created = {key for key in missing if stored[key].token in tokens}
        changed = [stored[key] for key in wanted.keys() - created if stored[key].assign(wanted[key])]
        # All rows exist and are locked, so this only updates. It is ten times as fast as bulk_update().
        self.bulk_create(changed, update_conflicts=True, unique_fields=["pk"], update_fields=UPDATABLE_FIELDS)
        self._announce_upsert([stored[key] for key in wanted if key in created], changed, wanted)
        return stored, created

    def _announce_upsert(
        self, created: Sequence["UserGroup"], changed: Iterable["UserGroup"], wanted: dict[str, dict[str, Any]]
    ) -> None:
        signals.announce(signals.created, created, self.db)
        if not signals.updated.has_listeners(self.model):
            return
        by_fields = defaultdict(list)
        for group in changed:
            by_fields[frozenset(wanted[group.provided_id]) - {"provided_id"}].append(group)
        for fields, groups in by_fields.items():
            signals.announce_update(groups, self.db, fields)

    def locked(self, provided_ids: Iterable[str]) -> dict[str, "UserGroup"]:
        """Return the groups with these ids, by id, and lock their rows until the transaction ends."""
        groups = self.filter(provided_id__in=provided_ids).select_for_update().order_by("pk")
        return {group.provided_id: group for group in groups}
