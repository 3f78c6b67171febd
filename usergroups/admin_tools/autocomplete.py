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

from .columns import can_view

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


def choices_of(field: Any) -> models.QuerySet[Any]:
    """Return the rows that a foreign key can refer to, with their owners, from the database for writes."""
    model = field.remote_field.model
    rows: models.QuerySet[Any] = model._default_manager.using(router.db_for_write(model)).select_related()
    return rows


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


class AutocompleteField(ModelChoiceField):
    """A choice of the rows that the foreign key ``field`` can refer to."""

    def __init__(self, field: Any, admin_site: admin.AdminSite, **kwargs: Any) -> None:
        rows = choices_of(field)
        super().__init__(rows, widget=AutocompleteSelect(field, admin_site, using=rows.db), **kwargs)


class AutocompleteFilter(admin.FieldListFilter):
    """Filter by a foreign key, with an autocomplete field in place of a list of all rows.

    Only operators who may view the rows that it refers to have the filter.
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

    def choices(self, changelist: Any) -> Iterator[Any]:
        used: Any = self.used_parameters
        form = forms.Form(initial={self.lookup: used.get(self.lookup, [None])[-1]}, auto_id="filter_%s")
        form.fields[self.lookup] = AutocompleteField(self.field, self.admin_site, required=False)
        yield {"field": form[self.lookup]}
