"""The admin of access tokens, collections and bookmarks."""

import json
from contextlib import suppress
from typing import Any, ClassVar

from django import forms
from django.contrib import admin
from django.contrib.admin.models import CHANGE
from django.contrib.humanize.templatetags.humanize import intcomma
from django.db.models import Q
from django.http import HttpRequest
from django.utils.html import format_html
from django.utils.text import capfirst
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from bookmarks import web_url
from bookmarks.models import AccessToken, Bookmark, Collection
from bookmarks.public_ids import Duplicate
from usergroups.admin_tools.base import ConfirmationForm, OperatorAdmin, requires_confirmation
from usergroups.admin_tools.forms import AutocompleteField, is_valid_value
from usergroups.admin_tools.history import kept_row, log_rows
from usergroups.admin_tools.lists import AutocompleteFilter, two_lines
from usergroups.models import UserGroup
from usergroups.tokens.admin import TokenAdmin

from .files import FilesAdmin

LIMIT = "of_user_group"
"""The query parameter that limits the autocompletion of collections to those of a user group."""


class OwnedAdmin(OperatorAdmin):
    """An admin of rows that belong to a user group."""

    list_filter: ClassVar[Any] = (("user_group", AutocompleteFilter), ("user_group__team", AutocompleteFilter))
    list_select_related: ClassVar[Any] = ("user_group__team",)
    deferred_fields = ("user_group__mapping", "user_group__properties")
    autocomplete_fields: ClassVar[Any] = ("user_group",)
    ordering = ("-id",)

    @admin.display(description=_("user group"))
    def user_group_link(self, row: Any) -> str:
        group = row.user_group
        return self.link_to(
            group, two_lines(group.name, ", ".join(filter(None, (group.provided_id, group.environment))))
        )

    @admin.display(description=_("team"))
    def team_link(self, row: Any) -> str:
        return self.link_to(row.user_group.team)


OWNERS = ("user_group_link", "team_link")


@admin.register(AccessToken)
class AccessTokenAdmin(TokenAdmin, OwnedAdmin):
    owner_fields = ("user_group",)
    owner_columns = OWNERS
    list_filter = (*TokenAdmin.list_filter, *OwnedAdmin.list_filter)
    search_fields = ("name", "hint", "user_group__name", "user_group__provided_id", "user_group__team__name")
    empty_text = _("An access token lets an application manage the bookmarks of a user group.")


@admin.register(Collection)
class CollectionAdmin(OwnedAdmin):
    list_display = ("name", *OWNERS, "created")
    search_fields = ("name", "user_group__name", "user_group__provided_id")
    find_fields = ("name", "id")
    fields = ("user_group", "name", "id", "created_at", "updated_at")
    empty_text = _("Applications create collections with POST /v1/collections.")
    deletion_note = _(
        "The bookmarks are kept, without a collection. If bookmarks become duplicates, only the oldest is kept."
    )

    def get_readonly_fields(self, request: HttpRequest, obj: Collection | None = None) -> tuple[str, ...]:
        dates = ("id", "created_at", "updated_at")
        return (*dates, "user_group") if obj else dates

    def get_search_results(self, request: HttpRequest, queryset: Any, search_term: str) -> tuple[Any, bool]:
        key = request.GET.get(LIMIT)
        if key and is_valid_value(UserGroup._meta.pk, key):
            queryset = queryset.filter(user_group=key)
        return super().get_search_results(request, queryset, search_term)


class MoveForm(ConfirmationForm):
    """The choice of a collection of the user group that all bookmarks belong to, or of none."""

    no_collection = forms.BooleanField(
        label=_("No collection"), help_text=_("Move the bookmarks out of their collections."), required=False
    )

    def __init__(self, model_admin: Any, request: HttpRequest, rows: list[Bookmark]) -> None:
        super().__init__(model_admin, request, rows)
        user_group = rows[0].user_group
        if any(bookmark.user_group_id != user_group.pk for bookmark in rows):
            self.refusals = [gettext("Select the bookmarks of one user group.")]
        field: Any = Bookmark._meta.get_field("collection")
        choice = AutocompleteField(field, model_admin.admin_site, required=False, label=capfirst(field.verbose_name))
        limit_to_group(choice, user_group)
        self.fields = {"collection": choice, **self.fields}

    def clean(self) -> dict[str, Any]:
        values: dict[str, Any] = self.cleaned_data
        if "collection" in values and (values["collection"] is None) != values["no_collection"]:
            self.add_error("collection", gettext("Choose a collection, or else “No collection”."))
        return values


def limit_to_group(field: Any, user_group: UserGroup) -> None:
    """Let a field for a collection accept and offer only those of the user group."""
    field.queryset = user_group.collections.for_write().select_related("user_group__team")
    widget = getattr(field.widget, "widget", field.widget)  # without the wrapper for links to other forms
    widget.query_params = {LIMIT: user_group.pk}
    field.error_messages["invalid_choice"] = _("The user group has no such collection.")


@admin.register(Bookmark)
class BookmarkAdmin(FilesAdmin, OwnedAdmin):
    list_display = ("url", "title", *OWNERS, "in_collection", "created")
    list_filter = (*OwnedAdmin.list_filter, ("collection", AutocompleteFilter))
    list_select_related = ("user_group__team", "collection")
    search_fields = ("url", "title")
    find_fields = ("id",)
    sortable_by = ()  # Only the default ordering, in which they were added, has an index on every database.
    autocomplete_fields: ClassVar[Any] = ("user_group", "collection")
    actions = ("move", "delete_selected")
    object_actions = {"move": _("Move")}
    empty_text = _("Applications create bookmarks with POST /v1/bookmarks.")

    def matching(self, text: str, lookup: str) -> Q:
        with suppress(ValueError):
            return Q(url_digest=web_url.digest(text)) if lookup == "exact" else Q()
        return super().matching(text, lookup)

    def details(self, row: Bookmark) -> list[Any]:
        return [row.title, row.user_group]

    def get_ordering(self, request: HttpRequest) -> tuple[str, ...]:
        # The order of the index of the group or the collection. PostgreSQL could otherwise read all groups' bookmarks.
        filtered = any(f"{name}__id__exact" in request.GET for name in ("user_group", "collection"))
        return ("-user_group_id", "-created_at", "-id") if filtered else self.ordering

    def get_fields(self, request: HttpRequest, obj: Bookmark | None = None) -> tuple[str, ...]:
        if obj is None:
            return ("user_group", "url", "title")
        return ("collection", "title", "user_group", "url_link", "id", "created_at", "updated_at")

    def get_readonly_fields(self, request: HttpRequest, obj: Bookmark | None = None) -> tuple[str, ...]:
        return self.get_fields(request, obj)[2:] if obj else ()

    def get_form(self, request: HttpRequest, obj: Bookmark | None = None, change: bool = False, **kwargs: Any) -> Any:
        form = super().get_form(request, obj, change, **kwargs)
        if obj is not None and "collection" in form.base_fields:
            limit_to_group(form.base_fields["collection"], obj.user_group)
        return form

    @admin.action(description=_("Move selected %(verbose_name_plural)s to a collection"), permissions=["change"])
    @requires_confirmation(
        _("Move %(rows)s to a collection"),
        _("A bookmark whose URL is in the collection already stays where it is."),
        MoveForm,
    )
    def move(self, request: HttpRequest, queryset: Any, collection: Collection | None, no_collection: bool) -> str:
        """Move bookmarks of a user group to a collection, or out of their collections, by the rules of the API."""
        rows = list(queryset)
        if collection is not None:
            # Lock the collection, so that it cannot be deleted until the transaction ends.
            stored = Collection.objects.for_write().filter(pk=collection.pk, user_group=collection.user_group_id)
            if stored.select_for_update(no_key=True).first() is None:
                return gettext("The collection no longer exists. Nothing was changed.")
        others = {row.pk: row for row in rows if row.collection_id != (collection and collection.pk)}
        of_group = Bookmark.objects.filter(user_group=rows[0].user_group_id if rows else None)
        results = of_group.move_many([str(key) for key in others], collection)
        moved = [bookmark for bookmark in results if isinstance(bookmark, Bookmark)]
        log_rows(request.user, CHANGE, [(row, message_of_move(others[row.pk].collection, collection)) for row in moved])
        text = gettext("Moved out of their collections: %(moved)s.")
        if collection is not None:
            text = gettext("Moved to “%(name)s”: %(moved)s.")
        others_text = gettext("Already there: %(there)s. Not moved because of a duplicate: %(duplicates)s.")
        return f"{text} {others_text}" % {
            "name": collection and collection.name,
            "moved": intcomma(len(moved)),
            "there": intcomma(len(rows) - len(others)),
            "duplicates": intcomma(results.count(Duplicate)),
        }

    @admin.display(description="URL")
    def url_link(self, bookmark: Bookmark) -> str:
        """Return a link that sends no referrer, or only the text if the scheme is not http or https."""
        if not bookmark.url.lower().startswith(("http://", "https://")):
            return bookmark.url
        return format_html('<a href="{0}" target="_blank" rel="noopener noreferrer">{0}</a>', bookmark.url)

    @admin.display(description=_("collection"))
    def in_collection(self, bookmark: Bookmark) -> str | None:
        return bookmark.collection.name if bookmark.collection else None


def message_of_move(old: Collection | None, new: Collection | None) -> str:
    """Return the message of the history, as it is written when the form of a bookmark is saved."""
    values = {"collection": [kept_row(old), kept_row(new)]}
    return json.dumps([{"changed": {"fields": ["Collection"], "values": values}}])
