"""The action that merges collections."""

from typing import Any

from django import forms
from django.contrib import admin
from django.contrib.humanize.templatetags.humanize import intcomma
from django.db.models import ProtectedError, QuerySet, RestrictedError
from django.http import HttpRequest
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from bookmarks.models import Bookmark, Collection
from bookmarks.querysets.collections import MAX_MERGED
from usergroups.admin_tools.confirmations import (
    ConfirmationForm,
    requires_confirmation,
)
from usergroups.admin_tools.deletion_pages import may_delete, protected_message
from usergroups.admin_tools.history import log_action
from usergroups.admin_tools.paginator import display_rows
from usergroups.db.cascades import TooManyDependants
from usergroups.events import Kind

from .owned import OwnedAdmin


class MergeForm(ConfirmationForm):
    """The choice of the collection that stays."""

    kept = forms.ChoiceField(label=_("Collection that stays"))

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        user_groups = {row.user_group_id for row in self.rows}
        if len(user_groups) > 1:
            text = gettext("Select the collections of one user group.")
            self.refusals.append(text)
        if len(self.rows) < 2:
            text = gettext("Select at least two collections.")
            self.refusals.append(text)
        field: Any = self.fields["kept"]
        field.choices = [("", "---------")]
        field.choices += [(str(row.pk), row.name) for row in self.rows]


class MergingAdmin(OwnedAdmin[Collection]):
    """An admin with the action ``merge``."""

    def has_merge_permission(self, request: HttpRequest) -> bool:
        """Return whether the user may change and delete collections and
        bookmarks.
        """
        bookmark_admin = self.admin_site.get_model_admin(Bookmark)
        return (
            self.has_change_permission(request)
            and self.has_delete_permission(request)
            and bookmark_admin.has_change_permission(request)
            and may_delete(self.admin_site, request, Bookmark)
        )

    @admin.action(
        description=_("Merge selected %(verbose_name_plural)s"),
        permissions=["merge"],
    )
    @requires_confirmation(
        _("Merge %(rows)s"),
        _(
            "The bookmarks move to the collection that stays, and the other "
            "collections are deleted. If several bookmarks have the same URL, only the "
            "oldest is kept. It gets the tags of the others, up to 50 in all, and a "
            "title and a note of theirs if it has none. This cannot be undone."
        ),
        MergeForm,
        irreversible=True,
    )
    def merge(
        self, request: HttpRequest, queryset: QuerySet[Collection], kept: str
    ) -> str:
        """Merge collections of a user group into the one with the key
        ``kept``.
        """
        collections = {str(each.pk): each for each in queryset}
        staying = collections.pop(kept, None)
        if staying is None:
            return gettext("The collection no longer exists. Nothing was changed.")
        others = list(collections.values())
        try:
            merged = Collection.objects.merge_into(staying.user_group, staying, others)
        except TooManyDependants:
            text = gettext(
                "Nothing was changed, because more than %(rows)s would move. Keep the "
                "largest collection, or move bookmarks first."
            )
            return text % {"rows": display_rows(MAX_MERGED, Bookmark._meta)}
        except (ProtectedError, RestrictedError) as error:
            return protected_message(error)
        log_action(request.user, Kind.MERGED, [staying])
        log_action(request.user, Kind.DELETED, others)
        text = gettext(
            "Merged into “%(name)s”: %(collections)s. Bookmarks moved: %(moved)s. "
            "Deleted because of a duplicate: %(duplicates)s."
        )
        return text % {
            "name": staying.name,
            "collections": display_rows(len(others), self.opts),
            "moved": intcomma(merged.moved),
            "duplicates": intcomma(merged.duplicates),
        }
