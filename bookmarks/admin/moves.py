"""The action that moves bookmarks to a collection."""

from collections.abc import Sequence
from typing import Any

from django import forms
from django.contrib import admin
from django.contrib.humanize.templatetags.humanize import intcomma
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from bookmarks.models import Bookmark, Collection
from bookmarks.owned_rows import Duplicate
from usergroups.admin_tools.autocomplete import autocomplete_field
from usergroups.admin_tools.confirmations import (
    ConfirmationForm,
    requires_confirmation,
)
from usergroups.admin_tools.history import log_action
from usergroups.events import Kind

from .collections import limit_to_group
from .owned import OwnedAdmin


class MoveForm(ConfirmationForm):
    """The collection to move bookmarks of one user group to, or the choice of
    none.
    """

    no_collection = forms.BooleanField(
        label=_("No collection"),
        help_text=_("Move the bookmarks out of their collections."),
        required=False,
    )

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        user_group = self.rows[0].user_group
        others = [row for row in self.rows if row.user_group_id != user_group.pk]
        if others:
            self.refusals = [gettext("Select the bookmarks of one user group.")]
        field: Any = Bookmark._meta.get_field("collection")
        choice = autocomplete_field(field, self.model_admin.admin_site, help_text="")
        limit_to_group(choice, user_group)
        self.fields["collection"] = choice
        self.order_fields(["collection", "no_collection"])

    def clean(self) -> None:
        """Require a collection or ``no_collection``, but not both."""
        # The field has an error already.
        if "collection" not in self.cleaned_data:
            return
        has_collection = self.cleaned_data["collection"] is not None
        has_chosen_none = self.cleaned_data["no_collection"]
        if has_collection == has_chosen_none:
            text = gettext("Choose a collection, or else “No collection”.")
            self.add_error("collection", text)


class MovingAdmin(OwnedAdmin[Bookmark]):
    """An admin with the action ``move``."""

    @admin.action(
        description=_("Move selected %(verbose_name_plural)s to a collection"),
        permissions=["change"],
    )
    @requires_confirmation(
        _("Move %(rows)s to a collection"),
        _("A bookmark whose URL is in the collection already stays where it is."),
        MoveForm,
    )
    def move(
        self,
        request: HttpRequest,
        queryset: QuerySet[Bookmark],
        collection: Collection | None,
        no_collection: bool,
    ) -> str:
        """Move bookmarks of a user group to a collection, or out of their
        collections, by the rules of the API.
        """
        rows = list(queryset)
        name = gettext("No collection")
        if collection is not None:
            if not lock(collection):
                return gettext("The collection no longer exists. Nothing was changed.")
            name = collection.name
        to_move = {row.pk: row for row in rows if row.collection != collection}
        outcomes: Sequence[tuple[object, bool]] = []
        if rows:
            ids = [str(pk) for pk in to_move]
            user_group = rows[0].user_group
            outcomes = Bookmark.objects.move_by_ids(user_group, ids, collection)
        moved = []
        duplicates = 0
        # A bookmark that no longer exists has no result.
        for result, _changed in outcomes:
            if isinstance(result, Bookmark):
                moved.append(to_move[result.pk])
            elif isinstance(result, Duplicate):
                duplicates += 1
        former = {row.collection.name if row.collection else "-" for row in moved}
        new = collection.name if collection else "-"
        changes = {"collection": [", ".join(sorted(former)), new]}
        log_action(request.user, Kind.CHANGED, moved, changes=changes)
        text = gettext(
            "Moved to “%(name)s”: %(moved)s. Already there: %(there)s. "
            "Not moved because of a duplicate: %(duplicates)s."
        )
        return text % {
            "name": name,
            "moved": intcomma(len(moved)),
            "there": intcomma(len(rows) - len(to_move)),
            "duplicates": intcomma(duplicates),
        }


def lock(collection: Collection) -> bool:
    """Lock a collection, so that it cannot be deleted until the transaction
    ends, and return whether it still exists.
    """
    collections = Collection.objects.for_write()
    stored = collections.filter(pk=collection.pk, user_group=collection.user_group_id)
    # The lock still lets other transactions add bookmarks to the collection.
    return stored.select_for_update(no_key=True).first() is not None
