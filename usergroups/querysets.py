"""The queryset of user groups."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias, TypedDict, TypeVar, cast

from django.db import models
from django.db.models import ProtectedError, RestrictedError
from django.db.models.functions import Left
from django.db.models.lookups import Exact
from django.utils import timezone

from . import signals
from .api.throttling import Deadline, TimeLimitExceeded
from .db.announcements import announce, announce_update
from .db.bounded_reads import require_small_results, size_of_results
from .db.cascades import DELETED_AT_ONCE, TooManyDependants, retry_deletion
from .db.outcomes import valid_items, with_outcomes
from .db.querysets import WritingManager, WritingQuerySet
from .db.retry import retry_on_conflict
from .db.stored_json import StoredSize
from .db.versions import Modified, Versions, require_version
from .deleted_user_groups import UserGroupDeletion
from .events import Event, Kind, events_about, keys_text, record_events

if TYPE_CHECKING:
    from .models import UserGroup

M = TypeVar("M", bound=models.Model)

LARGE_FIELDS = ("mapping", "properties")

UNIQUE_FIELDS = ["team", "environment", "provided_id"]
UPDATABLE_FIELDS = ["name", "mapping", "properties", "updated_at"]

MAX_TOGETHER = 100
"""The number of user groups that a batch deletes in one transaction."""


def name_begins_with(text: str) -> Exact:
    """Return the condition that the name of a group begins with this text, in
    the same letter case.
    """
    # Not with __startswith, because LIKE ignores the letter case on SQLite.
    return Exact(Left("name", len(text)), text)


class Scope(TypedDict):
    """The fields that select the user groups of an API token."""

    team_id: int
    environment: str


Items: TypeAlias = Sequence[Mapping[str, Any]]
"""The fields of user groups, each with a ``provided_id``."""


class Upserted(NamedTuple):
    """What an upsert did for an item."""

    user_group: "UserGroup"
    created: bool
    changed: bool
    """Whether the group was created or changed."""


class ErasingQuerySet(WritingQuerySet[M]):
    """A queryset whose deletions erase the history of user groups, and are
    events.
    """

    event_lookups: tuple[str, ...]
    """The lookups that lead from an event to the row."""

    def prepare_deletion(self, keys: Sequence[object]) -> None:
        events = Event.objects.using(self.db)
        for lookup in self.event_lookups:
            events.filter(**{f"{lookup}__in": keys}).delete()

    def record_counts(self, keys: Sequence[object], counts: Mapping[str, int]) -> None:
        """Record the deletion as an event without an owner."""
        deletion = Event(
            kind=Kind.DELETED,
            model=self.model._meta.label_lower,
            keys=keys_text(keys),
            counts=counts,
        )
        record_events([deletion], self.db)


class UserGroupQuerySet(ErasingQuerySet["UserGroup"]):
    """Deletes and upserts user groups."""

    deletion_record = UserGroupDeletion
    event_lookups = ("user_group",)

    def _delete_together(self) -> set[str]:
        """Delete the groups, and return their ids.

        Raises TooManyDependants if more than DELETED_AT_ONCE rows depend on them
        by one relation.
        """
        locked = self.select_for_update().order_by("pk")
        ids = set(locked.values_list("provided_id", flat=True))
        self._require_few_dependants(DELETED_AT_ONCE)
        self._delete()
        return ids

    def get_by_token(self, token: str) -> "UserGroup":
        """Return the group with this user group token, which may be any text.

        Raises UserGroup.DoesNotExist.
        """
        # A token has only printable characters, and PostgreSQL refuses U+0000
        # and lone surrogates.
        if not isinstance(token, str) or not token.isprintable():
            raise self.model.DoesNotExist
        return self.get(token=token)

    def _upsert(
        self, wanted: dict[str, dict[str, object]], scope: Scope
    ) -> tuple[dict[str, "UserGroup"], set[str], set[str]]:
        """Store the merged items, by id, in the current transaction.

        Return the groups by id, the ids of the new ones, and the ids of those
        that are new or changed.
        """
        stored = self._lock(wanted)
        missing = sorted(wanted.keys() - stored.keys())
        new = []
        for key in missing:
            fields = {"name": key, **wanted[key]}
            new.append(self.model(**scope, **fields))
        # Other transactions may have created some of these groups by now. An
        # upsert that changes nothing locks them; ignore_conflicts would not,
        # and the next query would not find a group that is deleted meanwhile.
        self.bulk_create(
            new,
            update_conflicts=True,
            unique_fields=UNIQUE_FIELDS,
            update_fields=["provided_id"],
        )
        stored |= self._lock(missing)
        # A group with another token was created by another transaction.
        tokens = {group.token for group in new}
        created = {key for key in missing if stored[key].token in tokens}
        changed = []
        # One signal announces the groups of which the same fields change.
        by_fields = defaultdict(list)
        now = timezone.now()
        for key, values in wanted.items():
            group = stored[key]
            names = group.assign(values, now)
            # A new group has all values already.
            if names:
                changed.append(group)
                by_fields[names].append(group)
        # All rows exist and are locked, so this only updates. It is ten times
        # as fast as bulk_update().
        self.bulk_create(
            changed,
            update_conflicts=True,
            unique_fields=["pk"],
            update_fields=UPDATABLE_FIELDS,
        )
        new_groups = [stored[key] for key in wanted if key in created]
        announce(signals.created, new_groups, self.db)
        for names, groups in by_fields.items():
            announce_update(groups, self.db, names)
        changed_ids = {group.provided_id for group in changed}
        return stored, created, created | changed_ids

    def _lock(self, provided_ids: Iterable[str]) -> dict[str, "UserGroup"]:
        """Lock the groups with these ids until the transaction ends, and
        return a dict of them by id.
        """
        groups = self.filter(provided_id__in=provided_ids)
        locked = groups.select_for_update().order_by("pk")
        return {group.provided_id: group for group in locked}


class UserGroupManager(WritingManager["UserGroup"]):
    """Reads and writes user groups by ``provided_id``, the id that the client
    assigned.

    The argument ``scope`` is that of an ApiToken.
    """

    changeable = frozenset({"name", "mapping", "properties", "notes"})
    # The responses to updates lack it.
    deferred_after_update = ("mapping",)

    def in_scope(self, scope: Scope) -> "UserGroupQuerySet":
        """Filter the groups of a team and environment, on the database for
        writes.
        """
        groups = cast(UserGroupQuerySet, self.on_db_for_write().get_queryset())
        return groups.filter(**scope)

    def _key(self, provided_id: str, scope: Scope) -> dict[str, object]:
        """Return the fields by which a group is found.

        Raises ValidationError if no group can have this id.
        """
        self.model.cleaned_values({"provided_id": provided_id})
        return {**scope, "provided_id": provided_id}

    def existing_ids(self, provided_ids: Iterable[str], scope: Scope) -> set[str]:
        """Return those of the ids that groups have, in one query."""
        groups = self.in_scope(scope).filter(provided_id__in=provided_ids)
        return set(groups.values_list("provided_id", flat=True))

    def update_by_provided_id(
        self,
        provided_id: str,
        scope: Scope,
        versions: Versions = None,
        **changes: object,
    ) -> "UserGroup":
        """Update the fields in ``changes`` and return the group, if its version
        is one of ``versions`` or these are None.

        Raises UserGroup.DoesNotExist or Modified.

        Other fields are not written, so that concurrent updates of different
        fields all take effect.
        """
        cleaned = self._cleaned_changes(changes)
        groups = self.on_db_for_write()
        key = self._key(provided_id, scope)
        # The only statement is an UPDATE, which needs no transaction.
        return retry_on_conflict(
            lambda: groups._update_by_key(key, versions, cleaned),
            groups.db,
            atomic=False,
        )

    def rotate_token(self, provided_id: str, scope: Scope) -> "UserGroup":
        """Replace the group's token and return the group.

        Raises UserGroup.DoesNotExist.
        """
        groups = self.on_db_for_write()
        key = self._key(provided_id, scope)
        new_token = self.model._meta.get_field("token").get_default()

        def rotate() -> "UserGroup":
            group = groups._update_by_key(key, None, {"token": new_token})
            announce(signals.rotated, [group], groups.db)
            events = events_about(Kind.ROTATED, [group], lambda group: group.name)
            record_events(events, groups.db)
            return group

        return retry_on_conflict(rotate, groups.db)

    def delete_by_provided_id(
        self,
        provided_id: str,
        scope: Scope,
        versions: Versions = None,
    ) -> None:
        """Delete the group and its dependants, if its version is one of
        ``versions`` or these are None.

        Raises UserGroup.DoesNotExist, Modified or, unlike ``delete()``,
        TooManyDependants.
        """
        groups = self.in_scope(scope)
        key = self._key(provided_id, scope)
        groups.filter(**key)._delete_only_row(versions)

    def delete_each(
        self, provided_ids: Sequence[str], scope: Scope, deadline: Deadline
    ) -> list[bool | Exception]:
        """Delete the groups with these ids. Return True for each, or why it has
        not been deleted.

        A transaction deletes up to MAX_TOGETHER groups, which takes a fraction
        of the time of one for each.
        """
        existing = self.existing_ids(provided_ids, scope)
        # each id once
        to_delete = [each for each in dict.fromkeys(provided_ids) if each in existing]
        outcomes: dict[str, bool | Exception] = {}
        for start in range(0, len(to_delete), MAX_TOGETHER):
            chunk = to_delete[start : start + MAX_TOGETHER]
            deleted = set()
            if not deadline.has_passed():
                deleted = self.delete_together(chunk, scope)
            for each in chunk:
                is_deleted = each in deleted
                outcomes[each] = is_deleted or self._delete_one(each, scope, deadline)
        return [outcomes.pop(each, self.model.DoesNotExist()) for each in provided_ids]

    def delete_together(self, provided_ids: Sequence[str], scope: Scope) -> set[str]:
        """Delete the groups with these ids in one transaction, and return their
        ids.

        They have one event. Delete nothing if they have many dependants, or if
        the host project keeps one of them from being deleted.
        """
        groups = self.in_scope(scope).filter(provided_id__in=provided_ids)
        try:
            return retry_deletion(groups._delete_together, groups.db)
        except (TooManyDependants, ProtectedError, RestrictedError):
            return set()

    def _delete_one(
        self, provided_id: str, scope: Scope, deadline: Deadline
    ) -> bool | Exception:
        if deadline.has_passed():
            return TimeLimitExceeded()
        try:
            self.delete_by_provided_id(provided_id, scope)
        except (
            self.model.DoesNotExist,
            TooManyDependants,
            ProtectedError,
            RestrictedError,
        ) as error:
            return error
        return True

    def get_or_add(
        self, provided_id: str, scope: Scope, fields: Mapping[str, object]
    ) -> tuple["UserGroup", bool]:
        """Return the group with this id, and whether it was created with
        ``fields``.

        Raises IntegrityError if the team is deleted.
        """
        # The mapping may be large, and the response of the API lacks it.
        groups = self.on_db_for_write().defer("mapping")
        key = self._key(provided_id, scope)
        values = {"name": provided_id, **fields, **key}
        self.model.cleaned_values(values)

        def get_or_insert() -> tuple["UserGroup", bool]:
            for existing in groups.filter(**key):
                return existing, False
            group = self.model(**values)
            groups.bulk_create([group])
            announce(signals.created, [group], groups.db)
            return group, True

        return retry_on_conflict(get_or_insert, groups.db)

    def estimate_upsert_size(self, items: Items, scope: Scope) -> int:
        """Estimate the size of the groups that ``upsert(items, scope)`` will
        return, in bytes of JSON.
        """
        ids = [item["provided_id"] for item in items]
        groups = self.in_scope(scope).filter(provided_id__in=ids)
        sizes = groups.values_list("provided_id", StoredSize(*LARGE_FIELDS))
        return size_of_results(ids, dict(sizes), items)

    def require_versions(
        self, items: Items, scope: Scope
    ) -> list[Mapping[str, object] | Modified]:
        """Return the items as ``upsert`` takes them, with Modified in place of
        each whose ``if_match`` is not the ``updated_at`` of its group.

        The groups with an ``if_match`` are locked, so call this in the
        transaction of ``upsert``.
        """
        conditional = [item["provided_id"] for item in items if "if_match" in item]
        locked = self.in_scope(scope)._lock(conditional) if conditional else {}
        times = {key: group.updated_at for key, group in locked.items()}
        return [require_version(item, times.get(item["provided_id"])) for item in items]

    def upsert_each(self, items: Items, scope: Scope) -> list[Upserted | Exception]:
        """Do what ``upsert`` does for each item, which may have an ``if_match``.

        In place of an item that fails, return the exception. Raises
        ResultsTooLarge.
        """
        groups = self.in_scope(scope)

        def upsert_valid() -> list[Upserted | Exception]:
            checked = self.require_versions(items, scope)
            valid = valid_items(checked)
            require_small_results(self.estimate_upsert_size(valid, scope))
            return with_outcomes(checked, self.upsert(valid, scope))

        is_conditional = any("if_match" in item for item in items)
        return retry_on_conflict(upsert_valid, groups.db, atomic=is_conditional)

    def upsert(self, items: Items, scope: Scope) -> list[Upserted]:
        """Update or create a group for each item.

        An item is a dict of ``provided_id`` and any other fields. If several
        items have the same id, later values override earlier ones. Either all
        items are stored or none. Raises IntegrityError if the team is deleted.
        """
        groups = self.in_scope(scope)
        for item in items:
            self.model.cleaned_values(item)
        # Merge the items of each group.
        wanted: dict[str, dict[str, object]] = {}
        for item in items:
            wanted.setdefault(item["provided_id"], {}).update(item)
        stored, created, changed = retry_on_conflict(
            lambda: groups._upsert(wanted, scope), groups.db
        )
        results = []
        for item in items:
            key = item["provided_id"]
            results.append(Upserted(stored[key], key in created, key in changed))
            # Only the first item of a group counts as its write.
            created.discard(key)
            changed.discard(key)
        return results
