"""Autocompletion of related rows, in forms and in filters of lists."""

from collections.abc import Iterator, Sequence
from typing import Any
from urllib.parse import urlencode

from django import forms
from django.contrib import admin
from django.contrib.admin import widgets
from django.contrib.admin.views.main import ChangeList
from django.db import models, router

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

    def choices(self, changelist: ChangeList) -> Iterator[Any]:
        """Yield the context of the template: the form field, and the names and
        values of the other filters, which the form sends as hidden inputs.
        """
        name = self.lookup
        site = changelist.model_admin.admin_site
        used: Any = self.used_parameters.get(name, [None])
        form = forms.Form(initial={name: used[-1]}, auto_id="filter_%s")
        form.fields[name] = autocomplete_field(self.field, site, required=False)
        others = []
        for other, values in changelist.filter_params.items():
            if other not in self.expected_parameters():
                others += [(other, value) for value in values]
        yield {"field": form[name], "others": others}
