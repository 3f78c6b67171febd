"""What the admin of every model has in common."""

from contextlib import suppress
from typing import TYPE_CHECKING, Any, ClassVar

from django import forms
from django.contrib import admin
from django.contrib.admin.helpers import ACTION_CHECKBOX_NAME
from django.contrib.admin.options import IncorrectLookupParameters
from django.core.exceptions import BadRequest, ValidationError
from django.db import DataError, connections, models, router
from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.utils import timezone

from usergroups.transactions import repeated

from .autocomplete import AutocompleteSelect, autocomplete_media, is_key
from .confirmation import confirmed
from .deletion import Deleted, what_goes
from .lists import BoundedPaginator, counted

if TYPE_CHECKING:
    ModelAdmin = admin.ModelAdmin[Any]
else:
    ModelAdmin = admin.ModelAdmin


class OperatorAdmin(ModelAdmin):
    """Stays fast with many rows, asks before what cannot be undone, and writes only what the operator changed."""

    paginator = BoundedPaginator
    show_full_result_count = False
    show_facets = admin.ShowFacets.NEVER
    change_list_template = "usergroups/admin/change_list.html"
    change_form_template = "usergroups/admin/change_form.html"
    formfield_overrides: ClassVar[Any] = {models.CharField: {"strip": False}}  # what is sent comes back
    actions: Any = ("delete_selected",)

    touched_fields: ClassVar[tuple[str, ...]] = ()
    """Fields that are set to now with every change."""
    object_actions: ClassVar[tuple[str, ...]] = ()
    """The actions that have a button on the page of a single row."""
    empty_text: ClassVar[str] = ""
    """What to tell where the table is empty."""

    @property
    def media(self) -> forms.Media:
        own = forms.Media(css={"all": ["usergroups/admin.css"]}, js=["usergroups/admin.js"])
        return super().media + autocomplete_media() + own

    @admin.action(description="Delete selected %(verbose_name_plural)s", permissions=["delete"])
    @confirmed("Delete", "This cannot be undone. It deletes:")
    def delete_selected(self, request: HttpRequest, queryset: models.QuerySet[Any]) -> str:
        number = len(queryset)
        self.log_deletions(request, queryset)
        self.delete_queryset(request, queryset)
        return f"Deleted {number:,} {self.opts.verbose_name if number == 1 else self.opts.verbose_name_plural}."

    def get_deleted_objects(self, objs: Any, request: HttpRequest) -> Deleted:  # type: ignore[override]
        return what_goes(objs, request, self.admin_site)

    def formfield_for_foreignkey(self, db_field: Any, request: HttpRequest, **kwargs: Any) -> Any:
        if db_field.name in self.get_autocomplete_fields(request):
            kwargs["widget"] = AutocompleteSelect(db_field, self.admin_site, using=kwargs.get("using"))
        return super().formfield_for_foreignkey(db_field, request, **kwargs)

    def get_form(self, request: HttpRequest, obj: Any = None, change: bool = False, **kwargs: Any) -> Any:
        form = super().get_form(request, obj, change, **kwargs)
        for field in form.base_fields.values():
            # What the operator changed is told by what was shown, not by what a caller has made of it meanwhile.
            field.show_hidden_initial = change
        return form

    def save_model(self, request: HttpRequest, obj: models.Model, form: Any, change: bool) -> None:
        if not change:
            super().save_model(request, obj, form, change)
        elif form.changed_data:
            for name in self.touched_fields:
                setattr(obj, name, timezone.now())
            obj.save(update_fields=[*form.changed_data, *self.touched_fields])

    def get_object(self, request: HttpRequest, object_id: str, from_field: str | None = None) -> Any:
        obj = super().get_object(request, object_id, from_field)
        database = router.db_for_write(self.model)
        if obj is None or request.method != "POST" or not connections[database].in_atomic_block:
            return obj
        # Nobody deletes or changes it before this is done.
        return self.model._default_manager.using(database).select_for_update().filter(pk=obj.pk).first()

    def changeform_view(
        self, request: HttpRequest, object_id: str | None = None, form_url: str = "", extra_context: Any = None
    ) -> Any:
        # Whoever was faster with the same is seen by the validation when it is run again.
        view = super().changeform_view
        return self._repeated(request, lambda: view(request, object_id, form_url, extra_context))

    def delete_view(self, request: HttpRequest, object_id: str, extra_context: Any = None) -> Any:
        view = super().delete_view
        return self._repeated(request, lambda: view(request, object_id, extra_context))

    def _repeated(self, request: HttpRequest, view: Any) -> Any:
        return repeated(view, router.db_for_write(self.model)) if request.method == "POST" else view()

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

    def changelist_view(self, request: HttpRequest, extra_context: Any = None) -> Any:
        selected = request.POST.getlist(ACTION_CHECKBOX_NAME)
        if not all(is_key(self.opts.pk, key) for key in selected):
            raise BadRequest("What was selected is no key.")
        return super().changelist_view(request, extra_context)

    def get_changelist_instance(self, request: HttpRequest) -> Any:
        try:
            changelist = super().get_changelist_instance(request)
        except (ValueError, OverflowError, DataError) as error:
            raise IncorrectLookupParameters from error  # what no column could hold; Django knows it of some only
        if not changelist.result_count:
            changelist.result_list = changelist.queryset.none()  # a search that found nothing is not made twice
        return changelist

    def lookup_allowed(self, lookup: str, value: str, request: HttpRequest) -> bool:
        """Only what the filters offer: there are fields that no filter could be made of."""
        if not super().lookup_allowed(lookup, value, request):
            return False
        filters = [each[0] if isinstance(each, tuple) else each for each in self.get_list_filter(request)]
        offered = [getattr(each, "parameter_name", each) for each in filters]
        return any(f"{lookup}__".startswith(f"{name}__") for name in offered)

    def get_changeform_initial_data(self, request: HttpRequest) -> dict[str, Any]:
        fields = {field.name: field for field in self.opts.concrete_fields}
        initial = {}
        for name, value in super().get_changeform_initial_data(request).items():
            with suppress(KeyError, ValidationError):
                initial[name] = fields[name].to_python(value)
        return initial

    def get_search_results(self, request: HttpRequest, queryset: Any, search_term: str) -> tuple[Any, bool]:
        if "\0" in search_term:
            return queryset.none(), False
        return super().get_search_results(request, queryset, search_term)
