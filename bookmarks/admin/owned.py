"""The base classes of the admins of rows that belong to a user group."""

from collections.abc import Sequence
from typing import Any, ClassVar

from django.contrib import admin
from django.db import router
from django.db.models import Model, QuerySet
from django.utils.translation import gettext_lazy as _

from bookmarks.deleted_bookmarks import Deletion
from bookmarks.owned_rows import parse_public_id
from usergroups.admin_tools.autocomplete import AutocompleteFilter
from usergroups.admin_tools.cells import two_lines
from usergroups.admin_tools.lists import ListFilters
from usergroups.admin_tools.operator_admin import OperatorAdmin
from usergroups.admin_tools.pages import M
from usergroups.db.announcements import announce_update
from usergroups.db.deletion_records import DeletionRecord

OWNER_COLUMNS = ("user_group_link", "team_link")


class OwnedAdmin(OperatorAdmin[M]):
    """An admin of rows that belong to a user group."""

    list_filter: ClassVar[ListFilters] = (
        ("user_group", AutocompleteFilter),
        ("user_group__team", AutocompleteFilter),
    )
    list_select_related: ClassVar[tuple[str, ...]] = ("user_group__team",)
    deferred_fields = ("user_group__mapping", "user_group__properties")
    autocomplete_fields: ClassVar[tuple[str, ...]] = ("user_group",)
    ordering = ("-id",)

    def parents_of(self, row: Any) -> list[Model]:
        return [row.user_group.team, row.user_group]

    @admin.display(description=_("user group"))
    def user_group_link(self, row: Any) -> str:
        group = row.user_group
        # Both may be empty.
        identity = filter(None, [group.provided_id, group.environment])
        text = two_lines(group.name, ", ".join(identity))
        return self.link_to(group, text)

    @admin.display(description=_("team"))
    def team_link(self, row: Any) -> str:
        return self.link_to(row.user_group.team)


class DistributedAdmin(OwnedAdmin[M]):
    """An admin of rows that Citus distributes by user group.

    Citus can lock rows only in a statement that names their user group.
    """

    def locked(self, rows: QuerySet[M], found: Sequence[Any]) -> QuerySet[M]:
        """Return the rows, of which ``found`` was read without locks.

        Those of one user group are locked when the queryset is read, and those
        of several at once, here.
        """
        user_groups = sorted({row.user_group_id for row in found})
        if len(user_groups) == 1:
            return super().locked(rows.filter(user_group=user_groups[0]), found)
        for user_group in user_groups:
            list(super().locked(rows.filter(user_group=user_group), found))
        return rows.order_by("pk")

    def deletions_of(self, text: str) -> QuerySet[DeletionRecord] | None:
        key = parse_public_id(text)
        if key is None:
            return None
        using = router.db_for_write(Deletion)
        records = Deletion.objects.using(using).filter(
            object_type=self.opts.model_name, object_id=key
        )
        return records.select_related("user_group__team")

    def update_fields(self, obj: Any, names: Sequence[str]) -> None:
        # save() would update the row on all nodes, because it names only the
        # primary key.
        using = router.db_for_write(self.model)
        rows = self.model._default_manager.using(using).filter(
            user_group=obj.user_group_id, pk=obj.pk
        )
        rows.update(**{name: getattr(obj, name) for name in names})
        announce_update([obj], using, names)
