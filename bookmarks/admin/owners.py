"""The lists of teams and user groups, with the last use of their tokens."""

from collections.abc import Iterable
from typing import Any

from django.contrib import admin
from django.db.models import (
    DateTimeField,
    Exists,
    OuterRef,
    QuerySet,
    Subquery,
)
from django.http import HttpRequest, HttpResponse
from django.utils import timezone
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from bookmarks.models import AccessToken, Bookmark, Collection
from usergroups.admin import TeamAdmin, UserGroupAdmin
from usergroups.admin_tools.cells import one_line, relative_time
from usergroups.admin_tools.event_list import recent_events
from usergroups.admin_tools.history import history_url
from usergroups.admin_tools.operator_admin import OperatorAdmin
from usergroups.admin_tools.pages import M, can_view
from usergroups.models import ApiToken, Team, UserGroup
from usergroups.tokens.admin_owner_page import read_tokens
from usergroups.tokens.models import UNUSED_NOTICE, Token

MAX_TOKENS = 1_000
"""The number of tokens of an owner, of which the newest come first, among
which the last use is looked for.
"""

MAX_EVENTS = 5  # on the page of an owner

TOKENS: dict[type[object], type[Token]] = {Team: ApiToken, UserGroup: AccessToken}
"""The tokens of each kind of owner."""


class UseFilter(admin.SimpleListFilter):
    """A filter by owners whose tokens were not used for 90 days."""

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
        used = tokens_of_owner(queryset.model).filter(last_used_at__gt=since)
        inactive = queryset.exclude(Exists(used))
        # A new user group is not inactive. Teams have no time of creation.
        if queryset.model is UserGroup:
            return inactive.filter(created_at__lte=since)
        return inactive


def tokens_of_owner(owner_model: type[Any]) -> QuerySet[Any]:
    """Return the tokens of the row of the outer query."""
    model = TOKENS[owner_model]
    return model.objects.filter(**{model.owner_field: OuterRef("pk")})


class OwnerAdmin(OperatorAdmin[M]):
    """An admin of owners of tokens, whose list shows the last use, and whose
    page shows the tokens, what else belongs to the owner and the last events.

    The form is behind the button Edit.
    """

    change_form_template = "bookmarks/owner_page.html"
    deletion_asks_for_name = True

    def render_change_form(
        self, request: HttpRequest, context: dict[str, Any], *args: Any, **kwargs: Any
    ) -> HttpResponse:
        """Add the tokens and the last events, unless the form is shown."""
        owner = context.get("original")
        if owner is not None and request.method == "GET" and "edit" not in request.GET:
            model = TOKENS[self.model]
            if can_view(self.admin_site, request, model):
                token_admin: Any = self.admin_site.get_model_admin(model)
                context["tokens"] = read_tokens(token_admin, request, owner)
            context |= {
                "events": recent_events(self.admin_site, request, MAX_EVENTS, owner),
                "history": history_url(self.admin_site, owner),
                "identity": one_line(self.identity(owner)),
            }
        return super().render_change_form(request, context, *args, **kwargs)

    def identity(self, row: Any) -> Iterable[object]:
        """Return what the page says of the row below its name."""
        raise NotImplementedError

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        """Add to lists when a token of each owner was last used."""
        rows = super().get_queryset(request)
        if self.is_row_page(request):
            return rows
        newest = tokens_of_owner(self.model).order_by("-created_at")
        last_use = Subquery(
            newest.values("last_used_at")[:MAX_TOKENS],
            output_field=DateTimeField(),
            template="(SELECT MAX(last_used_at) FROM (%(subquery)s) newest)",
        )
        return rows.annotate(last_use=last_use)

    @admin.display(description=_("last use"))
    def last_use(self, row: Any) -> str:
        return relative_time(row.last_use) or gettext("Never")


admin.site.unregister([Team, UserGroup])


@admin.register(Team)
class OwningTeamAdmin(OwnerAdmin[Team], TeamAdmin):
    list_display = (*TeamAdmin.list_display, "last_use")
    list_filter = (UseFilter,)
    related = (
        *TeamAdmin.related,
        (AccessToken, "user_group__team"),
        (Collection, "user_group__team"),
        (Bookmark, "user_group__team"),
    )

    def identity(self, row: Team) -> Iterable[object]:
        return [f"team_id: {row.pk}"]


@admin.register(UserGroup)
class OwningUserGroupAdmin(OwnerAdmin[UserGroup], UserGroupAdmin):
    list_display = (*UserGroupAdmin.list_display, "last_use")
    list_filter = (*UserGroupAdmin.list_filter, UseFilter)
    related = (
        (AccessToken, "user_group"),
        (Collection, "user_group"),
        (Bookmark, "user_group"),
    )

    def identity(self, row: Any) -> Iterable[object]:
        return [self.team_link(row), self.environment_badge(row), row.provided_id]
