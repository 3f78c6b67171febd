"""The base class of the admin of every model."""

from collections.abc import Sequence
from typing import Any, ClassVar

from django import forms
from django.contrib import admin
from django.db import models, router
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.utils.functional import Promise
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from usergroups.transactions import MAX_DEPENDANTS, TooManyDependants

from .autocomplete import AutocompleteSelect, autocomplete_media, choices_of
from .confirmation import requires_confirmation
from .context import ContextAdmin
from .deletion import DeletionSummary, deletion_summary
from .find import FindableAdmin
from .history import translate_entries
from .lists import BoundedPaginator, display_rows
from .owner_columns import COLUMNS, Describe, owner_column
from .saving import SavingAdmin

UNUSED_SCRIPTS = ("/urlify.js", "/prepopulate.js", "/xregexp.js", "/xregexp.min.js")
"""The scripts of Django's admin for fields that are filled from others. They are a third of what a page loads."""


class OperatorAdmin(FindableAdmin, SavingAdmin, ContextAdmin):
    """An admin that stays fast with many rows, confirms irreversible actions and links to related rows.

    It reads from the database for writes, so that operators never act on the state of a replica that lags behind.
    """

    paginator = BoundedPaginator
    show_full_result_count = False
    show_facets = admin.ShowFacets.NEVER
    change_list_template = "usergroups/admin/change_list.html"
    change_form_template = "usergroups/admin/change_form.html"
    actions: Any = ("delete_selected",)

    owner_columns: ClassVar[dict[str, Describe]] = {}
    """The lookups in ``list_display`` that are shown as links to the owner, and what the links show."""
    list_select_related: ClassVar[tuple[str, ...]] = ()
    deferred_fields: ClassVar[tuple[str, ...]] = ()
    """Large fields that only the change page loads."""
    object_actions: ClassVar[dict[str, str | Promise]] = {}
    """The names of the actions that have a button on the change page, and the labels of the buttons."""
    empty_text: ClassVar[str | Promise] = ""
    """The text to show when the table is empty."""

    @property
    def media(self) -> forms.Media:
        own = forms.Media(css={"all": ["usergroups/admin.css"]}, js=["admin/js/jquery.init.js", "usergroups/admin.js"])
        inherited: Any = super().media
        used = [script for script in inherited._js if not str(script).endswith(UNUSED_SCRIPTS)]
        return forms.Media(css=inherited._css, js=used) + autocomplete_media() + own

    @admin.action(description=_("Delete selected %(verbose_name_plural)s"), permissions=["delete"])
    @requires_confirmation(
        _("Delete %(rows)s"), _("The following will be deleted. This cannot be undone."), deletes=True
    )
    def delete_selected(self, request: HttpRequest, queryset: models.QuerySet[Any]) -> str:
        number = len(queryset)
        self.log_deletions(request, queryset)
        self.delete_queryset(request, queryset)
        return gettext("Deleted %(rows)s.") % {"rows": display_rows(number, self.opts)}

    def get_queryset(self, request: HttpRequest) -> models.QuerySet[Any]:
        queryset = super().get_queryset(request).using(router.db_for_write(self.model))
        if self.list_select_related:  # on every page, because loading related rows later might read from a replica
            queryset = queryset.select_related(*self.list_select_related)
        is_change_page = request.resolver_match and "object_id" in request.resolver_match.kwargs
        return queryset if is_change_page else queryset.defer(*self.deferred_fields)

    def get_list_display(self, request: HttpRequest) -> Any:
        return self.link_owners(request, super().get_list_display(request))

    def link_owners(self, request: HttpRequest, columns: Any) -> list[Any]:
        """Return the columns, with those of ``owner_columns`` as links and those of ``COLUMNS`` in short."""
        texts = {**COLUMNS, **self.owner_columns}
        return [owner_column(self, request, name, texts[name]) if name in texts else name for name in columns]

    def get_changelist_instance(self, request: HttpRequest) -> Any:
        changelist = super().get_changelist_instance(request)
        changelist.full_result_count = changelist.result_count  # hides Django's, which ignores the bound
        return changelist

    def get_deleted_objects(self, objs: Any, request: HttpRequest) -> DeletionSummary:  # type: ignore[override]
        descriptions, counts, perms_needed, protected = deletion_summary(objs, request, self.admin_site)
        try:
            rows: Any = self.get_queryset(request).filter(pk__in=[obj.pk for obj in objs])
            rows.require_few_dependants()
        except TooManyDependants as error:
            [model] = error.args
            text = gettext("More than %(rows)s. Delete them first, or run manage.py delete_object %(model)s ID.")
            rows = display_rows(MAX_DEPENDANTS, model._meta)
            protected.append(text % {"rows": rows, "model": self.opts.label})
        return descriptions, counts, perms_needed, protected

    def formfield_for_foreignkey(self, db_field: Any, request: HttpRequest, **kwargs: Any) -> Any:
        kwargs["queryset"] = choices_of(db_field)
        if db_field.name in self.get_autocomplete_fields(request):
            kwargs["widget"] = AutocompleteSelect(db_field, self.admin_site, using=kwargs["queryset"].db)
        return super().formfield_for_foreignkey(db_field, request, **kwargs)

    def render_change_form(self, request: HttpRequest, context: Any, *args: Any, **kwargs: Any) -> HttpResponse:
        obj = context.get("original")
        if obj is not None:
            context |= {"related": self.get_related(request, obj), "buttons": self.get_buttons(request, obj)}
        return super().render_change_form(request, context, *args, **kwargs)

    def history_view(self, request: HttpRequest, object_id: str, extra_context: Any = None) -> HttpResponse:
        response = super().history_view(request, object_id, extra_context)
        if page := (getattr(response, "context_data", None) or {}).get("action_list"):
            page.object_list = translate_entries(page.object_list)
        return response

    def render_page(self, request: HttpRequest, template: str, title: str, **context: Any) -> HttpResponse:
        """Render a page that Django's admin does not have."""
        request.current_app = self.admin_site.name
        page = {**self.admin_site.each_context(request), "opts": self.opts, "title": title, "media": self.media}
        filters = {"preserved_filters": self.get_preserved_filters(request)}
        return TemplateResponse(request, template, {**page, **filters, **context})

    def get_buttons(self, request: HttpRequest, obj: Any) -> list[tuple[str, str | Promise]]:
        """Return the names and labels of the actions that are available for the row."""
        actions = self.get_actions(request)
        return [(name, label) for name, label in self.object_actions.items() if name in actions]

    def confirmation_table(self, rows: Sequence[Any]) -> list[dict[str, Any]]:
        """Return what to show of the rows before an action changes them, by heading. By default only their names."""
        return []
