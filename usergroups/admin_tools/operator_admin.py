"""The base class of the admins of the apps' models."""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any, ClassVar

from django.contrib import admin
from django.contrib.admin.utils import flatten_fieldsets, get_fields_from_path
from django.contrib.humanize.templatetags.humanize import intcomma
from django.db import connections, models, router, transaction
from django.db.models import Q, QuerySet
from django.forms import ModelForm
from django.http import HttpRequest, HttpResponse
from django.utils import timezone
from django.utils.functional import Promise
from django.utils.http import urlencode
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from usergroups.db.retry import retry_on_conflict
from usergroups.signals import acting_as

from .autocomplete import autocomplete_field
from .cells import badge, short_date
from .deletions import DeletingAdmin
from .fields import MultiLineField, SingleLineField, is_valid_value
from .forms import OperatorForm
from .history import HistoryAdmin, changed_fields
from .lists import OperatorListAdmin
from .pages import M, can_view, is_object_page
from .paginator import MAX_LISTED, bounded_count


class OperatorAdmin(DeletingAdmin[M], HistoryAdmin[M], OperatorListAdmin[M]):
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
    deferred_fields: tuple[str, ...] = ()
    """Large fields that only the change page loads."""
    object_actions: dict[str, str | Promise] = {}
    """The names of the actions that have a button on the change page, and the
    labels of the buttons.
    """
    find_fields: tuple[str, ...] = ()
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
        if is_object_page(request):
            return rows
        return rows.defer(*self.deferred_fields)

    def lookup_allowed(self, lookup: str, value: str, request: HttpRequest) -> bool:
        """Allow only the lookups of ``list_filter``.

        Others could reveal hidden values, such as tokens.
        """
        if not super().lookup_allowed(lookup, value, request):
            return False
        filters: Any = self.get_list_filter(request)
        for each in filters:
            # A filter is a field, a field with a class, or a class with a
            # query parameter.
            if isinstance(each, tuple):
                name = each[0]
            else:
                name = getattr(each, "parameter_name", each)
            # "team" allows "team" and "team__id", but not "teammate".
            if lookup == name or lookup.startswith(f"{name}__"):
                return True
        return False

    def get_object(
        self, request: HttpRequest, object_id: str, from_field: str | None = None
    ) -> M | None:
        """Return the row of a page.

        If its form has been submitted, lock the row until it is saved.
        """
        row = super().get_object(request, object_id, from_field)
        if row is None or request.method != "POST":
            return row
        rows = self.get_queryset(request).filter(pk=row.pk)
        # Only a transaction can lock rows.
        if not connections[rows.db].in_atomic_block:
            return row
        return rows.select_for_update(of=("self",)).first()

    # Saving

    def formfield_for_foreignkey(
        self, db_field: Any, request: HttpRequest, **kwargs: Any
    ) -> Any:
        if db_field.name in self.get_autocomplete_fields(request):
            return autocomplete_field(db_field, self.admin_site)
        return super().formfield_for_foreignkey(db_field, request, **kwargs)

    def save_model(
        self, request: HttpRequest, obj: M, form: "ModelForm[M]", change: bool
    ) -> None:
        """Save a new row, or only the changed fields of another one."""
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
        """Add the related lists and the buttons of actions to the page."""
        context["show_save_and_add_another"] = False
        obj = context.get("original")
        if obj is not None:
            if request.method == "GET":
                restored = self.restore(request, obj, context["adminform"].form)
                context["restored"] = restored
                # Without the query parameter. The page after "Save and
                # continue editing" must not restore the values again.
                if restored:
                    kwargs["form_url"] = request.path
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

    # Links from the page of a row to the lists of its related rows

    def get_related(self, request: HttpRequest, obj: M) -> list[dict[str, Any]]:
        """Return a summary of each list that the user may view and that has an
        AutocompleteFilter for this row.
        """
        related: list[dict[str, Any]] = []
        for model in self.opts.apps.get_models():
            if can_view(self.admin_site, request, model):
                other = self.admin_site.get_model_admin(model)
                if isinstance(other, OperatorAdmin):
                    related += other.lists_filtered_by(request, obj)
        return related

    def lists_filtered_by(
        self, request: HttpRequest, obj: models.Model
    ) -> Iterator[dict[str, Any]]:
        """Yield a summary of this list for each of its filters by a foreign
        key to the model of ``obj``.
        """
        filters: Any = self.get_list_filter(request)
        for each in filters:
            if not isinstance(each, tuple):
                continue
            field_path = each[0]
            field: Any = get_fields_from_path(self.model, field_path)[-1]
            if field.related_model is type(obj):
                query = {f"{field_path}__{obj._meta.pk.name}__exact": obj.pk}
                summary = self.related_list(request, query)
                summary["links"] = self.get_related_links(request, field_path, obj)
                yield summary

    def related_list(
        self, request: HttpRequest, query: dict[str, Any]
    ) -> dict[str, Any]:
        """Return the name, the number of rows and the address of this list
        with these filters.
        """
        number = bounded_count(self.get_queryset(request).filter(**query))
        count = intcomma(number)
        if number == MAX_LISTED:
            count += "+"
        return {
            "name": str(self.opts.verbose_name_plural),
            "count": count,
            "url": f"{self.url_of('changelist')}?{urlencode(query)}",
        }

    def get_related_links(
        self, request: HttpRequest, field_path: str, obj: models.Model
    ) -> list[tuple[str, str]]:
        """Return labels and URLs of links such as "Add bookmark here", which
        open a form with ``obj`` in the field.
        """
        if not self.has_add_permission(request):
            return []
        if field_path not in flatten_fieldsets(self.get_fieldsets(request)):
            return []
        text = gettext("Add %(name)s here") % {"name": self.opts.verbose_name}
        query = urlencode({field_path: obj.pk})
        return [(text, f"{self.url_of('add')}?{query}")]

    # Find

    def with_secrets(self, secrets: Sequence[str]) -> Q:
        """Return the condition that one of these secrets, which begin with
        ``secret_prefix``, identifies the row.
        """
        return Q()  # Find returns no rows for an empty condition.

    def text_condition(self, text: str, lookup: str) -> Q:
        """Return the condition that a field equals the text (``lookup``
        "exact") or contains it ("icontains").

        Find passes the secrets in a text to ``with_secrets`` instead.
        """
        condition = Q()
        for name in self.find_fields:
            field: Any = self.opts.get_field(name)
            # Other fields, such as ids, match as a whole.
            is_searched = lookup == "exact" or isinstance(field, models.CharField)
            if is_searched and is_valid_value(field, text):
                condition |= Q((f"{name}__{lookup}", text))
        return condition
