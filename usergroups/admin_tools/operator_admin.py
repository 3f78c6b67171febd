"""The base class of the admins of the apps' models."""

from collections.abc import Sequence
from functools import partial
from typing import Any, ClassVar

from django.contrib import admin
from django.db import connections, models, router, transaction
from django.db.models import QuerySet
from django.forms import ModelChoiceField, ModelForm
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import redirect
from django.utils import timezone
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from usergroups.db.announcements import NOTES
from usergroups.db.retry import retry_on_conflict
from usergroups.signals import acting_as

from .autocomplete import autocomplete_field
from .cells import badge
from .deletion_pages import DeletingAdmin
from .event_list import recent_events
from .fields import ForeignKey, MultiLineField, SingleLineField
from .findable import FindableAdmin
from .forms import OperatorForm
from .history import HistoryAdmin, changed_fields
from .lists import OperatorListAdmin
from .pages import M
from .related_lists import RelatedListsAdmin


class OperatorAdmin(
    DeletingAdmin[M],
    HistoryAdmin[M],
    RelatedListsAdmin[M],
    FindableAdmin[M],
    OperatorListAdmin[M],
):
    """An admin that stays fast with many rows, asks before irreversible
    actions and links to related rows.

    It reads from the database for writes, so that operators never act on the
    state of a replica that lags behind. It writes only the changed fields.
    """

    change_form_template = "usergroups/admin/change_form.html"
    form: "type[ModelForm[M]]" = OperatorForm
    formfield_overrides = {
        models.CharField: {"strip": False, "form_class": SingleLineField},
        models.TextField: {"strip": False, "form_class": MultiLineField},
    }

    list_select_related: ClassVar[tuple[str, ...]] = ()
    fixed_fields: tuple[str, ...] = ()
    """The fields that can be set only for a new row."""
    deferred_fields: tuple[str, ...] = ()
    """Large fields that only the change page loads."""
    object_actions: dict[str, str | Promise] = {}
    """The names of the actions that have a button on the change page, and the
    labels of the buttons.
    """

    # Columns of several lists

    @admin.display(description=_("team"))
    def team_link(self, row: Any) -> str:
        return self.link_to(row.team)

    @admin.display(description=_("environment"), ordering="environment")
    def environment_badge(self, row: Any) -> str | None:
        if not row.environment:
            return None
        return badge(row.environment.lower(), row.environment)

    # Reading

    def get_queryset(self, request: HttpRequest) -> QuerySet[M]:
        """Read from the database for writes, and in lists no large fields."""
        database = router.db_for_write(self.model)
        rows = super().get_queryset(request).using(database)
        # on every page, because loading related rows later might read from a
        # replica
        if self.list_select_related:
            rows = rows.select_related(*self.list_select_related)
        if self.is_row_page(request):
            return rows
        return rows.defer(*self.deferred_fields)

    def get_object(
        self, request: HttpRequest, object_id: str, from_field: str | None = None
    ) -> M | None:
        """Return the row of a page.

        If its form has been submitted, lock the row until it is saved.
        """
        row = super().get_object(request, object_id, from_field)
        rows = self.get_queryset(request)
        # Only a transaction can lock rows.
        can_lock = connections[rows.db].in_atomic_block
        if row is None or request.method != "POST" or not can_lock:
            return row
        return self.locked(rows.filter(pk=row.pk), [row]).first()

    def get_readonly_fields(
        self, request: HttpRequest, obj: M | None = None
    ) -> tuple[str, ...]:
        if obj is None:
            return tuple(self.readonly_fields)
        return (*self.readonly_fields, *self.fixed_fields)

    # Saving

    def formfield_for_foreignkey(
        self, db_field: ForeignKey, request: HttpRequest, **kwargs: object
    ) -> "ModelChoiceField[Any] | None":
        if db_field.name in self.get_autocomplete_fields(request):
            # Unlike Django's, it reads from the database for writes.
            return autocomplete_field(db_field, self.admin_site)
        return super().formfield_for_foreignkey(db_field, request, **kwargs)

    def save_model(
        self, request: HttpRequest, obj: M, form: "ModelForm[M]", change: bool
    ) -> None:
        """Save a new row, or only the changed fields of an existing one."""
        if not change:
            super().save_model(request, obj, form, change)
            return
        changed = changed_fields(form)
        if not changed:
            return
        # Keep the time if only the notes change. Otherwise, applications would
        # see a new ETag although nothing that they see has changed.
        has_only_notes = changed == [NOTES]
        if hasattr(obj, "updated_at") and not has_only_notes:
            obj.updated_at = timezone.now()
            changed.append("updated_at")
        self.update_fields(obj, changed)

    def update_fields(self, obj: M, names: Sequence[str]) -> None:
        """Store the fields of a row that have these names."""
        obj.save(update_fields=names)

    def changeform_view(
        self, request: HttpRequest, *args: Any, **kwargs: Any
    ) -> HttpResponse:
        """Save a form in a transaction that is repeated after a conflict."""
        view = partial(super().changeform_view, request, *args, **kwargs)
        if request.method != "POST":
            return view()
        # After a conflict, validation finds what the other transaction has
        # committed, and the form shows the error.
        with acting_as(request.user):
            return retry_on_conflict(view, router.db_for_write(self.model))

    def response_post_save_change(
        self, request: HttpRequest, obj: M
    ) -> HttpResponseRedirect:
        """Stay on the page, which still leads to the filtered list."""
        address = self.url_of("change", obj.pk)
        filters = self.get_preserved_filters(request)
        return redirect(f"{address}?{filters}" if filters else address)

    def message_user(self, request: HttpRequest, *args: Any, **kwargs: Any) -> None:
        # Add the message on commit, so that a rolled-back attempt leaves none.
        add_message = partial(super().message_user, request, *args, **kwargs)
        transaction.on_commit(add_message, using=router.db_for_write(self.model))

    # The page of a row

    def render_change_form(
        self,
        request: HttpRequest,
        context: dict[str, Any],
        *args: Any,
        **kwargs: Any,
    ) -> HttpResponse:
        """Add the related lists and the buttons of actions to the page."""
        context["show_save_and_add_another"] = False
        context["show_save_and_continue"] = False  # Saving leads to this page.
        context["show_delete"] = False  # The template has a button for it.
        obj = context.get("original")
        if obj is None:
            return super().render_change_form(request, context, *args, **kwargs)
        if getattr(context["adminform"].form, "has_conflict", False):
            context["last_events"] = recent_events(self.admin_site, request, 1, obj)
        context["related"] = self.get_related(request, obj)
        context["parents"] = [self.link_to(each) for each in self.parents_of(obj)]
        context["buttons"] = self.get_buttons(request, obj)
        context["irreversible"] = [
            name
            for name in self.object_actions
            if getattr(self, name).confirmation.irreversible
        ]
        return super().render_change_form(request, context, *args, **kwargs)

    def get_buttons(
        self, request: HttpRequest, obj: M
    ) -> list[tuple[str, str | Promise]]:
        """Return the names and labels of the actions that are available for
        the row.
        """
        allowed = self.get_actions(request)
        buttons = self.object_actions.items()
        return [(name, label) for name, label in buttons if name in allowed]
