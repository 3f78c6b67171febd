"""The action that moves bookmarks to a collection."""

from typing import Any

from django.contrib import admin
from django.contrib.admin.models import CHANGE, LogEntry
from django.contrib.humanize.templatetags.humanize import intcomma
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.text import capfirst
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from bookmarks.models import Bookmark, Collection
from bookmarks.public_ids import Duplicate
from usergroups.admin_tools.autocomplete import AutocompleteField
from usergroups.admin_tools.base import OperatorAdmin
from usergroups.admin_tools.confirmation import RowsForm, requires_confirmation
from usergroups.admin_tools.context import limit_param

MOVED = [{"changed": {"fields": ["Collection"]}}]
"""The message of the history, as Django writes it when the form of a bookmark is saved."""


class MoveForm(RowsForm):
    """The choice of a collection of the user group to which all bookmarks belong."""

    def use_rows(self, model_admin: Any, rows: list[Any]) -> list[str]:
        user_group = rows[0].user_group
        if any(bookmark.user_group_id != user_group.pk for bookmark in rows):
            return [gettext("The selected bookmarks belong to several user groups. Select those of one only.")]
        field: Any = Bookmark._meta.get_field("collection")
        choice = AutocompleteField(
            field,
            model_admin.admin_site,
            required=False,
            label=capfirst(field.verbose_name),
            help_text=_("If empty, the bookmarks are moved out of their collections."),
        )
        choice.queryset = user_group.collections.for_write().select_related("user_group__team")
        choice.widget.query_params = {limit_param("user_group"): user_group.pk}
        self.fields["collection"] = choice
        return []


class MovingAdmin(OperatorAdmin):
    """An admin of bookmarks that moves many at once, by the rules of the API."""

    @admin.action(description=_("Move selected %(verbose_name_plural)s to a collection"), permissions=["change"])
    @requires_confirmation(
        _("Move %(rows)s to a collection"),
        _("A bookmark whose URL is in the collection already stays where it is."),
        MoveForm,
    )
    def move(self, request: HttpRequest, queryset: QuerySet[Bookmark], collection: Collection | None) -> str:
        rows = list(queryset)
        if collection is not None and not _lock(collection):
            return gettext("The collection no longer exists. Nothing was changed.")
        others = [bookmark for bookmark in rows if bookmark.collection_id != (collection and collection.pk)]
        of_group = Bookmark.objects.filter(user_group=others[0].user_group_id if others else None)
        results = of_group.move_many([str(bookmark.pk) for bookmark in others], collection)
        moved = [bookmark for bookmark in results if isinstance(bookmark, Bookmark)]
        operator: Any = request.user.pk
        LogEntry.objects.log_actions(operator, moved, CHANGE, MOVED)
        text = gettext("Moved: %(moved)s. Already there: %(there)s. Not moved because of a duplicate: %(duplicates)s.")
        return text % {
            "moved": intcomma(len(moved)),
            "there": intcomma(len(rows) - len(others)),
            "duplicates": intcomma(results.count(Duplicate)),
        }


def _lock(collection: Collection) -> bool:
    """Prevent the deletion of the collection until the transaction ends. Return whether it still exists."""
    rows = Collection.objects.for_write().filter(pk=collection.pk, user_group=collection.user_group_id)
    return rows.select_for_update(no_key=True).first() is not None
