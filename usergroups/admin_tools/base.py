"""What the admin of every model has in common."""

from typing import Any, ClassVar

from django import forms
from django.contrib import admin
from django.db import models
from django.http import HttpRequest, HttpResponse
from django.urls import reverse

from .autocomplete import AutocompleteSelect, autocomplete_media
from .confirmation import confirmed
from .deletion import Deleted, what_goes
from .lists import BoundedPaginator, counted
from .saving import SavingAdmin
from .strictness import StrictAdmin


class OperatorAdmin(SavingAdmin, StrictAdmin):
    """Stays fast with many rows, asks before what cannot be undone, and leads to what belongs together."""

    paginator = BoundedPaginator
    show_full_result_count = False
    show_facets = admin.ShowFacets.NEVER
    change_list_template = "usergroups/admin/change_list.html"
    change_form_template = "usergroups/admin/change_form.html"
    actions: Any = ("delete_selected",)

    unlisted_fields: ClassVar[tuple[str, ...]] = ()
    """Large fields, which only the page of a single row loads."""
    object_actions: ClassVar[tuple[str, ...]] = ()
    """The actions that have a button on the page of a single row."""
    empty_text: ClassVar[str] = ""
    """What to tell where the table is empty."""

    @property
    def media(self) -> forms.Media:
        own = forms.Media(css={"all": ["usergroups/admin.css"]}, js=["usergroups/admin.js"])
        return super().media + autocomplete_media() + own

    @admin.action(description="Delete selected %(verbose_name_plural)s", permissions=["delete"])
    @confirmed("Delete", "This cannot be undone. It deletes:", deletes=True)
    def delete_selected(self, request: HttpRequest, queryset: models.QuerySet[Any]) -> str:
        number = len(queryset)
        self.log_deletions(request, queryset)
        self.delete_queryset(request, queryset)
        return f"Deleted {number:,} {self.opts.verbose_name if number == 1 else self.opts.verbose_name_plural}."

    def get_queryset(self, request: HttpRequest) -> models.QuerySet[Any]:
        queryset = super().get_queryset(request)
        on_page_of_row = request.resolver_match and "object_id" in request.resolver_match.kwargs
        return queryset if on_page_of_row else queryset.defer(*self.unlisted_fields)

    def get_deleted_objects(self, objs: Any, request: HttpRequest) -> Deleted:  # type: ignore[override]
        return what_goes(objs, request, self.admin_site)

    def formfield_for_foreignkey(self, db_field: Any, request: HttpRequest, **kwargs: Any) -> Any:
        if db_field.name in self.get_autocomplete_fields(request):
            kwargs["widget"] = AutocompleteSelect(db_field, self.admin_site, using=kwargs.get("using"))
        return super().formfield_for_foreignkey(db_field, request, **kwargs)

    def render_change_form(self, request: HttpRequest, context: Any, *args: Any, **kwargs: Any) -> HttpResponse:
        obj = context.get("original")
        if obj is not None:
            context |= {"related": self.get_related(request, obj), "buttons": self.get_buttons(request, obj)}
        return super().render_change_form(request, context, *args, **kwargs)

    def get_buttons(self, request: HttpRequest, obj: Any) -> list[tuple[str, str]]:
        """Return name and label of the actions that can be taken on the row."""
        actions = self.get_actions(request)
        return [(name, name.replace("_", " ").capitalize()) for name in self.object_actions if name in actions]

    def get_related(self, request: HttpRequest, obj: models.Model) -> list[dict[str, str]]:
        """Return name, number and address of the rows that refer to this one, for each model the operator may view."""
        related = []
        for relation in self.opts.related_objects:
            model: Any = relation.related_model
            other = self.admin_site._registry.get(model)
            if other is not None and other.has_view_permission(request):
                address = reverse(f"{self.admin_site.name}:{model._meta.app_label}_{model._meta.model_name}_changelist")
                name = relation.field.name
                related.append(
                    {
                        "name": str(model._meta.verbose_name_plural),
                        "count": counted(model._default_manager.filter(**{name: obj})),
                        "url": f"{address}?{name}__{relation.field.target_field.name}__exact={obj.pk}",
                    }
                )
        return related
