"""Autocompletion of related rows, in forms and in filters of lists."""

from collections.abc import Iterator, Sequence
from typing import Any
from urllib.parse import urlencode

from django import forms
from django.contrib import admin
from django.contrib.admin import widgets
from django.db import models, router
from django.http import HttpRequest

from .fields import is_valid_value
from .model_admin import ModelAdmin


class AutocompleteSelect(widgets.AutocompleteSelect):
    """Django's widget with an accessible name and extra query parameters, and
    without queries for malformed values.
    """

    query_params: dict[str, object] = {}
    """Parameters of the autocomplete URL, by which ``get_search_results()`` of
    the related model's admin can filter.
    """

    @property
    def media(self) -> forms.Media:
        scripts = ["admin/js/autocomplete.js", "usergroups/autocomplete.js"]
        return super().media + forms.Media(js=scripts)

    def get_url(self) -> str:
        url = super().get_url()
        return f"{url}?{urlencode(self.query_params)}" if self.query_params else url

    def optgroups(self, name: str, value: Sequence[str], attrs: Any = None) -> Any:
        # Django's widget queries for every submitted value, and raises an
        # error for malformed ones.
        target = self.field.target_field
        valid = [key for key in value if is_valid_value(target, key)]
        return super().optgroups(name, valid, attrs)


def required_relations(model: type[models.Model]) -> Iterator[str]:
    """Yield the lookups of a model's required foreign keys.

    Those of the models that they refer to follow, because the names of rows
    show them. ``select_related()`` without names is deprecated.
    """
    for field in model._meta.fields:
        if isinstance(field, models.ForeignKey) and not field.null:
            yield field.name
            for lookup in required_relations(field.remote_field.model):
                yield f"{field.name}__{lookup}"


def autocomplete_field(
    field: "models.ForeignKey[Any, Any]", admin_site: admin.AdminSite, **kwargs: Any
) -> Any:
    """Return a form field for a foreign key, with autocompletion.

    It reads the rows from the database for writes.
    """
    model = field.remote_field.model
    rows = model._default_manager.using(router.db_for_write(model))
    related = list(required_relations(model))
    if related:
        rows = rows.select_related(*related)
    widget = AutocompleteSelect(field, admin_site, using=rows.db)
    return field.formfield(queryset=rows, widget=widget, **kwargs)


class AutocompleteFilter(admin.FieldListFilter):
    """Filter by a foreign key, with an autocomplete field in place of a list
    of all rows.
    """

    def __init__(
        self,
        field: Any,
        request: HttpRequest,
        params: Any,
        model: type[models.Model],
        model_admin: ModelAdmin[Any],
        *,
        field_path: str,
    ) -> None:
        self.foreign_key = field
        self.lookup = f"{field_path}__{field.target_field.name}__exact"
        super().__init__(
            field, request, params, model, model_admin, field_path=field_path
        )
        if self.used_parameters.get(self.lookup) == [""]:  # submitted without a choice
            del self.used_parameters[self.lookup]
        self.admin_site = model_admin.admin_site

    def expected_parameters(self) -> list[str | None]:
        return [self.lookup]

    def choices(self, changelist: Any) -> Iterator[Any]:
        """Yield the field, and the other filters, which its form also sends."""
        used: Any = self.used_parameters.get(self.lookup, [None])
        form = forms.Form(initial={self.lookup: used[-1]}, auto_id="filter_%s")
        form.fields[self.lookup] = autocomplete_field(
            self.foreign_key, self.admin_site, required=False
        )
        others = []
        for name, values in changelist.filter_params.items():
            if name != self.lookup:
                others += [(name, value) for value in values]
        yield {"field": form[self.lookup], "others": others}
