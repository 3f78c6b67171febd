"""Autocompletion of related rows, in forms and in filters of lists."""

from collections.abc import Iterator, Sequence
from typing import Any
from urllib.parse import urlencode

from django import forms
from django.contrib import admin
from django.contrib.admin import widgets
from django.db import models, router

from .fields import ForeignKey, is_valid_value


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
        """Return the URL from which the browser loads the choices."""
        url = super().get_url()
        if self.query_params:
            url += f"?{urlencode(self.query_params)}"
        return url

    def optgroups(
        self, name: str, value: Sequence[str], attrs: dict[str, object] | None = None
    ) -> Any:
        """Return the options to render, which are the selected ones."""
        # Django's widget queries for every submitted value, and raises an
        # error for malformed ones.
        target = self.field.target_field
        valid = [key for key in value if is_valid_value(target, key)]
        return super().optgroups(name, valid, attrs)


def required_relations(model: type[models.Model]) -> Iterator[str]:
    """Yield the lookups of a model's required foreign keys, and of those of
    the models that they refer to.

    The name of a row, which a form shows, may contain the names of these rows.
    ``select_related()`` without lookups would follow the same keys, but it is
    deprecated.
    """
    for field in model._meta.fields:
        if isinstance(field, models.ForeignKey) and not field.null:
            yield field.name
            for lookup in required_relations(field.remote_field.model):
                yield f"{field.name}__{lookup}"


def autocomplete_field(
    field: ForeignKey, admin_site: admin.AdminSite, **kwargs: Any
) -> Any:
    """Return a form field for a foreign key, with autocompletion.

    It reads the rows from the database for writes.
    """
    model = field.remote_field.model
    rows = model._default_manager.using(router.db_for_write(model))
    related = list(required_relations(model))
    # Without lookups, select_related() would mean all relations.
    if related:
        rows = rows.select_related(*related)
    widget = AutocompleteSelect(field, admin_site, using=rows.db)
    return field.formfield(queryset=rows, widget=widget, **kwargs)


class AutocompleteFilter(admin.FieldListFilter):
    """Filter by a foreign key, with an autocomplete field in place of a list
    of all rows.
    """

    field: Any

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        # The form was submitted without a choice, so do not filter.
        if self.used_parameters.get(self.lookup) == [""]:
            del self.used_parameters[self.lookup]

    @property
    def lookup(self) -> str:
        """The query parameter of the filter."""
        return f"{self.field_path}__{self.field.target_field.name}__exact"

    def expected_parameters(self) -> list[str | None]:
        return [self.lookup]

    def choices(self, changelist: Any) -> Iterator[Any]:
        """Yield the context of the template: the form field, and the names and
        values of the other filters, which the form sends as hidden inputs.
        """
        used: Any = self.used_parameters.get(self.lookup, [None])
        form = forms.Form(initial={self.lookup: used[-1]}, auto_id="filter_%s")
        form.fields[self.lookup] = autocomplete_field(
            self.field, changelist.model_admin.admin_site, required=False
        )
        others = []
        for name, values in changelist.filter_params.items():
            if name != self.lookup:
                others += [(name, value) for value in values]
        yield {"field": form[self.lookup], "others": others}
