"""The base class of the admins of rows that belong to a user group."""

from typing import Any, ClassVar, Protocol

from django.contrib import admin
from django.utils.translation import gettext_lazy as _

from usergroups.admin_tools.autocomplete import AutocompleteFilter
from usergroups.admin_tools.cells import two_lines
from usergroups.admin_tools.operator_admin import OperatorAdmin
from usergroups.admin_tools.pages import M
from usergroups.models import UserGroup

OWNER_COLUMNS = ("user_group_link", "team_link")


class Owned(Protocol):
    """A row that belongs to a user group."""

    user_group: UserGroup


class OwnedAdmin(OperatorAdmin[M]):
    """An admin of rows that belong to a user group."""

    list_filter: ClassVar[Any] = (
        ("user_group", AutocompleteFilter),
        ("user_group__team", AutocompleteFilter),
    )
    list_select_related: ClassVar[tuple[str, ...]] = ("user_group__team",)
    deferred_fields = ("user_group__mapping", "user_group__properties")
    autocomplete_fields: ClassVar[Any] = ("user_group",)
    ordering = ("-id",)

    @admin.display(description=_("user group"))
    def user_group_link(self, row: Owned) -> str:
        group = row.user_group
        # Both may be empty.
        identity = [each for each in (group.provided_id, group.environment) if each]
        text = two_lines(group.name, ", ".join(identity))
        return self.link_to(group, text)

    @admin.display(description=_("team"))
    def team_link(self, row: Any) -> str:
        return self.link_to(row.user_group.team)
