"""The base class of the admins of the apps' models."""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any, ClassVar

from django.contrib import admin
from django.db import connections, models, router, transaction
from django.db.models import Q, QuerySet
from django.http import HttpRequest, HttpResponse
from django.utils import timezone
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from usergroups.db.retry import retry_on_conflict
from usergroups.signals import acting_as

from .autocomplete import autocomplete_field
from .cells import badge, short_date
from .deletions import DeletingAdmin
from .fields import MultiLineField, SingleLineField, is_valid_value
from .forms import OperatorForm
from .history import changed_fields
from .history_pages import HistoryAdmin
from .lists import OperatorListAdmin
from .model_admin import M
from .related_lists import RelatedListsAdmin


class OperatorAdmin(
    DeletingAdmin[M], RelatedListsAdmin[M], HistoryAdmin[M], OperatorListAdmin[M]
):
    """An admin that stays fast with many rows, asks before irreversible
    actions and links to related rows.

    It reads from the database for writes, so that operators never act on the
    state of a replica that lags behind. It writes only the changed fields.
    """

    change_form_template = "usergroups/admin/change_form.html"
    form: Any = OperatorForm
    formfield_overrides: ClassVar[Any] = {
        models.CharField: {"strip": False, "form_class": SingleLineField},
        models.TextField: {"strip": False, "form_class": MultiLineField},
    }

    list_select_related: ClassVar[tuple[str, ...]] = ()
    deferred_fields: ClassVar[tuple[str, ...]] = ()
    """Large fields that only the change page loads."""
    object_actions: ClassVar[dict[str, str | Promise]] = {}
    """The names of the actions that have a button on the change page, and the
    labels of the buttons.
    """
    find_fields: ClassVar[tuple[str, ...]] = ()
    """The fields that the page Find searches for a value equal to the text or,
    in text fields, containing it.
    """
    secret_prefix: str = ""
    """The prefix of the secrets that identify a row, if any."""

    # Columns of several lists

    @admin.display(description=_("team"))
    def team_link(self, row: Any) -> str:
        return self.link_to(row.team)

    @admin.display(description=_("environment"), ordering="environment")
    def environment_badge(self, row: Any) -> str:
        return badge(row.environment.lower(), row.environment)

    @admin.display(description=_("created"), ordering="created_at")
    def created(self, row: Any) -> str:
        return short_date(row.created_at)

    @admin.display(description=_("updated"), ordering="updated_at")
    def updated(self, row: Any) -> str:
        return short_date(row.updated_at)

    # Reading

    def get_queryset(self, request: HttpRequest) -> QuerySet[M]:
        rows = super().get_queryset(request).using(router.db_for_write(self.model))
        # on every page, because loading related rows later might read from a
        # replica
        if self.list_select_related:
            rows = rows.select_related(*self.list_select_related)
        match = request.resolver_match
        is_change_page = match is not None and "object_id" in match.kwargs
        return rows if is_change_page else rows.defer(*self.deferred_fields)

    def lookup_allowed(self, lookup: str, value: str, request: HttpRequest) -> bool:
        """Allow only the lookups of ``list_filter``.

        Others could reveal hidden values, such as tokens.
        """
        if not super().lookup_allowed(lookup, value, request):
            return False
        offered = self.filter_names(request)
        return any(f"{lookup}__".startswith(f"{name}__") for name in offered)

    def filter_names(self, request: HttpRequest) -> Iterator[str]:
        """Yield the field or the query parameter of each filter."""
        filters: Sequence[Any] = self.get_list_filter(request)
        for each in filters:
            name_or_class: Any = each[0] if isinstance(each, tuple) else each
            yield getattr(name_or_class, "parameter_name", name_or_class)

    def get_object(
        self, request: HttpRequest, object_id: str, from_field: str | None = None
    ) -> M | None:
        """Return the row of a page.

        If its form has been submitted, lock the row until it is saved.
        """
        row = super().get_object(request, object_id, from_field)
        if row is None or request.method != "POST":
            return row
        using: Any = row._state.db
        if not connections[using].in_atomic_block:
            return row
        rows = self.get_queryset(request).filter(pk=row.pk)
        return rows.select_for_update(of=("self",)).first()

    # Saving

    def formfield_for_foreignkey(
        self, db_field: Any, request: HttpRequest, **kwargs: Any
    ) -> Any:
        if db_field.name in self.get_autocomplete_fields(request):
            return autocomplete_field(db_field, self.admin_site)
        return super().formfield_for_foreignkey(db_field, request, **kwargs)

    def save_model(
        self, request: HttpRequest, obj: Any, form: Any, change: bool
    ) -> None:
        if not change:
            super().save_model(request, obj, form, change)
            return
        changed = changed_fields(form)
        if not changed:
            return
        if hasattr(obj, "updated_at"):
            obj.updated_at = timezone.now()
            changed.append("updated_at")
        obj.save(update_fields=changed)

    def changeform_view(self, request: HttpRequest, *args: Any, **kwargs: Any) -> Any:
        view = partial(super().changeform_view, request, *args, **kwargs)
        if request.method != "POST":
            return view()
        # After a conflict, validation finds what the other transaction has
        # committed, and the form shows the error.
        with acting_as(request.user):
            return retry_on_conflict(view, router.db_for_write(self.model))

    def message_user(self, request: HttpRequest, *args: Any, **kwargs: Any) -> None:
        # Add the message on commit, so that a rolled-back attempt leaves none.
        add_message: Callable[[], None] = partial(
            super().message_user, request, *args, **kwargs
        )
        transaction.on_commit(add_message, using=router.db_for_write(self.model))

    # The page of a row

    def render_change_form(
        self,
        request: HttpRequest,
        context: dict[str, Any],
        *args: Any,
        **kwargs: Any,
    ) -> HttpResponse:
        context["show_save_and_add_another"] = False
        obj = context.get("original")
        if obj is not None:
            if request.method == "GET":
                self.restore(request, obj, context["adminform"].form)
            context["related"] = self.get_related(request, obj)
            context["buttons"] = self.get_buttons(request, obj)
        return super().render_change_form(request, context, *args, **kwargs)

    def get_buttons(
        self, request: HttpRequest, obj: M
    ) -> list[tuple[str, str | Promise]]:
        """Return the names and labels of the actions that are available for
        the row.
        """
        allowed = self.get_actions(request)
        return [each for each in self.object_actions.items() if each[0] in allowed]

    # Find

    def with_secrets(self, secrets: Sequence[str]) -> Q:
        """Return the condition that one of these secrets, which begin with
        ``secret_prefix``, identifies the row.
        """
        return Q()  # Find returns no rows for an empty condition.

    def matching(self, text: str, lookup: str) -> Q:
        """Return the condition that a field equals the text (``lookup``
        "exact") or contains it ("icontains").

        Find passes the secrets in a text to ``with_secrets`` instead.
        """
        condition = Q()
        for name in self.find_fields:
            field: Any = self.opts.get_field(name)
            is_searched = lookup == "exact" or isinstance(field, models.CharField)
            if is_searched and is_valid_value(field, text):
                condition |= Q((f"{name}__{lookup}", text))
        return condition
