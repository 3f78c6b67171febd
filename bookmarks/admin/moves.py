"""The action that moves bookmarks to a collection."""

import json
from typing import Any

from django import forms
from django.contrib import admin
from django.contrib.admin.models import CHANGE
from django.contrib.humanize.templatetags.humanize import intcomma
from django.http import HttpRequest
from django.utils.text import capfirst
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from bookmarks.models import Bookmark, Collection
from bookmarks.public_ids import Duplicate
from usergroups.admin_tools.autocomplete import AutocompleteField
from usergroups.admin_tools.confirmation import ConfirmationForm, requires_confirmation
from usergroups.admin_tools.history import kept_row, log_rows
from usergroups.models import UserGroup

LIMIT = "of_user_group"
"""The query parameter that limits the autocompletion of collections to those of a user group."""


class OneGroupForm(ConfirmationForm):
    """A form that refuses bookmarks of several user groups."""

    def __init__(self, model_admin: Any, request: HttpRequest, rows: list[Bookmark]) -> None:
        super().__init__(model_admin, request, rows)
        self.user_group = rows[0].user_group
        if any(bookmark.user_group_id != self.user_group.pk for bookmark in rows):
            self.refusals = [gettext("Select the bookmarks of one user group.")]


class MoveForm(OneGroupForm):
    """The choice of a collection of the user group, or of none."""

    no_collection = forms.BooleanField(
        label=_("No collection"), help_text=_("Move the bookmarks out of their collections."), required=False
    )

    def __init__(self, model_admin: Any, request: HttpRequest, rows: list[Bookmark]) -> None:
        super().__init__(model_admin, request, rows)
        field: Any = Bookmark._meta.get_field("collection")
        choice = AutocompleteField(field, model_admin.admin_site, required=False, label=capfirst(field.verbose_name))
        limit_to_group(choice, self.user_group)
        self.fields = {"collection": choice, **self.fields}

    def clean(self) -> dict[str, Any]:
        values: dict[str, Any] = self.cleaned_data
        if "collection" in values and (values["collection"] is None) != values["no_collection"]:
            self.add_error("collection", gettext("Choose a collection, or else “No collection”."))
        return values


def limit_to_group(field: Any, user_group: UserGroup) -> None:
    """Let a field for a collection accept and offer only those of the user group."""
    field.queryset = user_group.collections.for_write().select_related("user_group__team")
    field.widget.query_params = {LIMIT: user_group.pk}
    field.error_messages["invalid_choice"] = _("The user group has no such collection.")


@admin.action(description=_("Move selected %(verbose_name_plural)s to a collection"), permissions=["change"])
@requires_confirmation(
    _("Move %(rows)s to a collection"),
    _("A bookmark whose URL is in the collection already stays where it is."),
    MoveForm,
)
def move(
    model_admin: Any, request: HttpRequest, queryset: Any, collection: Collection | None, no_collection: bool
) -> str:
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
    log_rows(request.user, CHANGE, [(row, _message(others[row.pk].collection, collection)) for row in moved])
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


def _message(old: Collection | None, new: Collection | None) -> str:
    """Return the message of the history, as it is written when the form of a bookmark is saved."""
    values = {"collection": [kept_row(old), kept_row(new)]}
    return json.dumps([{"changed": {"fields": ["Collection"], "values": values}}])
