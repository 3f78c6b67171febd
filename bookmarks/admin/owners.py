"""The lists of teams and user groups, with the number of their bookmarks and
the last use of their tokens.
"""

from collections.abc import Sequence
from datetime import datetime
from typing import Any, ClassVar, NamedTuple

from django.contrib import admin
from django.contrib.humanize.templatetags.humanize import intcomma
from django.db.models import (
    DateTimeField,
    Exists,
    IntegerField,
    OuterRef,
    QuerySet,
    Subquery,
)
from django.http import HttpRequest
from django.utils import timezone
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from bookmarks.models import AccessToken, Bookmark
from usergroups.admin import TeamAdmin, UserGroupAdmin
from usergroups.admin_tools.cells import relative_time
from usergroups.admin_tools.operator_admin import OperatorAdmin
from usergroups.admin_tools.pages import M
from usergroups.models import ApiToken, Team, UserGroup
from usergroups.tokens.models import UNUSED_NOTICE, Token

MAX_BOOKMARKS = 1_000
"""The number of bookmarks of an owner up to which they are counted."""

MAX_TOKENS = 1_000
"""The number of tokens of an owner, of which the newest come first, among
which the last use is looked for.
"""

TOKENS: dict[type[Any], type[Token]] = {Team: ApiToken, UserGroup: AccessToken}
"""The tokens of each kind of owner."""


class Activity(NamedTuple):
    """What a list shows of an owner besides its fields."""

    bookmarks: int | None
    last_use: datetime | None


class UseFilter(admin.SimpleListFilter):
    title = _("use")
    parameter_name = "use"

    def lookups(
        self, request: HttpRequest, model_admin: object
    ) -> list[tuple[str, Any]]:
        return [("inactive", _("Inactive for 90 days"))]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        if self.value() != "inactive":
            return queryset
        since = timezone.now() - UNUSED_NOTICE
        model = TOKENS[queryset.model]
        tokens = model.objects.filter(**{model.owner_field: OuterRef("pk")})
        inactive = queryset.exclude(Exists(tokens.filter(last_used_at__gt=since)))
        # A new user group is not inactive. Teams have no time of creation.
        if queryset.model is UserGroup:
            return inactive.filter(created_at__lte=since)
        return inactive


class OwnerAdmin(OperatorAdmin[M]):
    """An admin of owners of tokens, which knows their bookmarks."""

    path_to_owner: ClassVar[str]
    """The lookup from a bookmark to the owner."""

    def complete_rows(self, request: HttpRequest, rows: Sequence[Any]) -> None:
        """Set ``activity`` of each row, with one statement for all.

        Its subqueries name the owners. Citus could not execute one that refers
        to a row of another table.
        """
        expressions: list[Subquery] = []
        for row in rows:
            bookmarks = Bookmark.objects.filter(**{self.path_to_owner: row.pk})
            model = TOKENS[self.model]
            tokens = model.objects.filter(**{model.owner_field: row.pk})
            expressions += [number_of(bookmarks), last_use_of(tokens)]
        values: Sequence[Any] = ()
        if rows:
            any_row = self.get_queryset(request).filter(pk=rows[0].pk)
            values = any_row.values_list(*expressions).first() or ()
        for number, row in enumerate(rows):
            own_values = values[2 * number : 2 * number + 2] or (None, None)
            row.activity = Activity(*own_values)

    @admin.display(description=_("bookmarks"))
    def number_of_bookmarks(self, row: Any) -> str | None:
        number = row.activity.bookmarks
        if number is None:
            return None
        if number > MAX_BOOKMARKS:
            return f"{intcomma(MAX_BOOKMARKS)}+"
        return intcomma(number)

    @admin.display(description=_("last use"))
    def last_use(self, row: Any) -> str:
        return relative_time(row.activity.last_use) or gettext("Never")


def number_of(bookmarks: QuerySet[Bookmark]) -> Subquery:
    """Return an expression for the number of bookmarks, without counting
    beyond one more than MAX_BOOKMARKS.
    """
    return Subquery(
        bookmarks.order_by().values("pk")[: MAX_BOOKMARKS + 1],
        output_field=IntegerField(),
        template="(SELECT COUNT(*) FROM (%(subquery)s) counted)",
    )


def last_use_of(tokens: QuerySet[Any]) -> Subquery:
    """Return an expression for the last use of one of the newest tokens."""
    return Subquery(
        tokens.order_by("-created_at").values("last_used_at")[:MAX_TOKENS],
        output_field=DateTimeField(),
        template="(SELECT MAX(last_used_at) FROM (%(subquery)s) newest)",
    )


admin.site.unregister([Team, UserGroup])


@admin.register(Team)
class OwningTeamAdmin(OwnerAdmin[Team], TeamAdmin):
    path_to_owner = "user_group__team"
    list_display = (*TeamAdmin.list_display, "number_of_bookmarks", "last_use")
    list_filter = (UseFilter,)


@admin.register(UserGroup)
class OwningUserGroupAdmin(OwnerAdmin[UserGroup], UserGroupAdmin):
    path_to_owner = "user_group"
    list_display = (*UserGroupAdmin.list_display, "number_of_bookmarks", "last_use")
    list_filter = (*UserGroupAdmin.list_filter, UseFilter)
