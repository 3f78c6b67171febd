"""Autocompletion of related rows, in forms and in filters of lists."""

from collections.abc import Iterator, Sequence
from typing import Any
from urllib.parse import urlencode

from django import forms
from django.contrib import admin
from django.contrib.admin import widgets
from django.db import models, router
from django.http import HttpRequest

from .fields import ForeignKey, valid_values


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
        valid = valid_values(self.field.target_field, value)
        return super().optgroups(name, valid, attrs)


def autocomplete_field(
    field: ForeignKey, admin_site: admin.AdminSite, **kwargs: Any
) -> "forms.ModelChoiceField[models.Model]":
    """Return a form field for a foreign key, with autocompletion.

    It reads the rows from the database for writes.
    """
    model = field.remote_field.model
    database = router.db_for_write(model)
    rows = model._default_manager.using(database)
    widget = AutocompleteSelect(field, admin_site, using=database)
    return field.formfield(queryset=rows, widget=widget, **kwargs)  # type: ignore[return-value]


def set_query_params(field: forms.Field, query_params: dict[str, object]) -> None:
    """Add parameters to the URL from which the browser loads the choices of an
    autocomplete field.
    """
    # The admin wraps the widget in one with links to other forms.
    widget: Any = getattr(field.widget, "widget", field.widget)
    widget.query_params = query_params


class AutocompleteFilter(admin.FieldListFilter):
    """Filter by a foreign key, with an autocomplete field in place of a list
    of all rows.
    """

    field: ForeignKey

    def __init__(  # noqa: PLR0917 - Django's arguments
        self,
        field: ForeignKey,
        request: HttpRequest,
        params: dict[str, Any],
        model: type[models.Model],
        model_admin: Any,
        field_path: str,
    ) -> None:
        super().__init__(field, request, params, model, model_admin, field_path)
        used: Any = self.used_parameters.get(self.lookup, [None])
        # The form was submitted without a choice, so do not filter.
        if used == [""]:
            del self.used_parameters[self.lookup]
        form = forms.Form(initial={self.lookup: used[-1]}, auto_id="filter_%s")
        site = model_admin.admin_site
        form.fields[self.lookup] = autocomplete_field(field, site, required=False)
        self.bound_field = form[self.lookup]

    @property
    def lookup(self) -> str:
        """The query parameter of the filter."""
        return f"{self.field_path}__{self.field.target_field.name}__exact"

    def expected_parameters(self) -> list[str | None]:
        return [self.lookup]

    def choices(self, changelist: object) -> Iterator[Any]:
        return iter(())  # The template shows the field.
