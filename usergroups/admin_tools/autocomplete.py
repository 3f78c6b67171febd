"""Form fields and filters that choose a related row by searching, because a list of all rows would be too long."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

from django import forms
from django.contrib import admin
from django.contrib.admin import widgets
from django.core.exceptions import ValidationError
from django.db import models, router
from django.http import HttpRequest

from .permissions import can_view

if TYPE_CHECKING:
    ModelChoiceField = forms.ModelChoiceField[models.Model]
else:
    ModelChoiceField = forms.ModelChoiceField


def is_valid_value(field: "models.Field[Any, Any]", value: object) -> bool:
    """Return whether ``value``, as sent in a request, is valid for the model field."""
    try:
        field.clean(value, None)
    except ValidationError:
        return False
    return True


def required_relations(model: Any) -> Iterator[str]:
    """Yield the lookups of the required foreign keys of a model, and of those of the models that they refer to."""
    for field in model._meta.fields:
        if field.many_to_one and not field.null:
            yield field.name
            yield from (f"{field.name}__{lookup}" for lookup in required_relations(field.related_model))


def choices_of(field: Any) -> models.QuerySet[Any]:
    """Return the rows that a foreign key can refer to, with their related rows, from the database for writes."""
    model = field.remote_field.model
    rows: models.QuerySet[Any] = model._default_manager.using(router.db_for_write(model))
    related = list(required_relations(model))
    return rows.select_related(*related) if related else rows


class AutocompleteSelect(widgets.AutocompleteSelect):
    """Django's widget, with a name, with extra query parameters and without a query for malformed values."""

    query_params: dict[str, Any] = {}
    """Added to the autocomplete URL, so that ``get_search_results()`` of the related model can filter by them."""

    @property
    def media(self) -> forms.Media:
        return super().media + forms.Media(js=["admin/js/autocomplete.js", "usergroups/autocomplete.js"])

    def get_url(self) -> str:
        return f"{super().get_url()}?{urlencode(self.query_params)}" if self.query_params else super().get_url()

    def optgroups(self, name: str, value: Any, attrs: Any = None) -> Any:
        # Django's widget queries for every submitted value, and raises an error for malformed ones.
        target = self.field.target_field
        return super().optgroups(name, [key for key in value if is_valid_value(target, key)], attrs)


def autocomplete_media() -> forms.Media:
    """Return the media of the widget, for pages that use it in a filter."""
    return AutocompleteSelect(None, None).media  # type: ignore[arg-type]


class AutocompleteField(ModelChoiceField):
    """A choice of the rows that the foreign key ``field`` can refer to."""

    def __init__(self, field: Any, admin_site: admin.AdminSite, **kwargs: Any) -> None:
        rows = choices_of(field)
        super().__init__(rows, widget=AutocompleteSelect(field, admin_site, using=rows.db), **kwargs)


class AutocompleteFilter(admin.FieldListFilter):
    """Filter by a foreign key, with an autocomplete field in place of a list of all rows.

    The template ``usergroups/admin/change_list.html`` shows the field.
    """

    def __init__(
        self, field: Any, request: HttpRequest, params: Any, model: Any, model_admin: Any, *, field_path: str
    ) -> None:
        self.lookup = f"{field_path}__{field.target_field.name}__exact"
        super().__init__(field, request, params, model, model_admin, field_path=field_path)
        if self.used_parameters.get(self.lookup) == [""]:  # submitted without a choice
            del self.used_parameters[self.lookup]
        self.admin_site = model_admin.admin_site
        self.is_visible = can_view(self.admin_site, request, field.remote_field.model)

    def expected_parameters(self) -> list[str | None]:
        return [self.lookup]

    def has_output(self) -> bool:
        return self.is_visible

    @property
    def chosen_key(self) -> Any:
        used: Any = self.used_parameters
        return used.get(self.lookup, [None])[-1]

    def chosen_row(self) -> Any:
        """Return the row by which the list is filtered, or None."""
        field: Any = self.field
        return choices_of(field).filter(**{field.target_field.name: self.chosen_key}).first()

    def choices(self, changelist: Any) -> Iterator[Any]:
        form = forms.Form(initial={self.lookup: self.chosen_key}, auto_id="filter_%s")
        field = AutocompleteField(self.field, self.admin_site, required=False)
        form.fields[self.lookup] = field
        yield {"field": form[self.lookup]}
