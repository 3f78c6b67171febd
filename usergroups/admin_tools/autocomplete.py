"""Choosing one of very many rows, in forms and in filters."""

from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

from django import forms
from django.contrib import admin
from django.contrib.admin import widgets
from django.core.exceptions import ValidationError
from django.db import models
from django.http import HttpRequest

if TYPE_CHECKING:
    ModelChoiceField = forms.ModelChoiceField[models.Model]
else:
    ModelChoiceField = forms.ModelChoiceField


def is_key(field: "models.Field[Any, Any]", value: object) -> bool:
    """Whether ``value``, as a request brings it, could be in the field."""
    try:
        field.clean(value, None)
    except ValidationError:
        return False
    return True


class AutocompleteSelect(widgets.AutocompleteSelect):
    narrowed: Mapping[str, Any] = MappingProxyType({})
    """Parameters by which the other model's ``get_search_results()`` knows to offer less."""

    def get_url(self) -> str:
        return f"{super().get_url()}?{urlencode(self.narrowed)}" if self.narrowed else super().get_url()

    def optgroups(self, name: str, value: Any, attrs: Any = None) -> Any:
        # Django's would look up whatever a request brings, and fail.
        target = self.field.target_field
        return super().optgroups(name, [key for key in value if is_key(target, key)], attrs)


def autocomplete_media() -> forms.Media:
    """Return what the widget needs, for pages that have it in a filter."""
    return AutocompleteSelect(None, None).media  # type: ignore[arg-type]


class AutocompleteField(ModelChoiceField):
    """One of the rows that the foreign key ``field`` may refer to."""

    def __init__(self, field: Any, admin_site: admin.AdminSite, **kwargs: Any) -> None:
        rows = field.remote_field.model._default_manager.all()
        super().__init__(rows, widget=AutocompleteSelect(field, admin_site), **kwargs)


class AutocompleteFilter(admin.FieldListFilter):
    """Filters by the row that a foreign key leads to; offers only what is searched for."""

    template = "usergroups/admin/autocomplete_filter.html"

    def __init__(
        self,
        field: Any,
        request: HttpRequest,
        params: dict[str, Any],
        model: type[models.Model],
        model_admin: Any,
        *,
        field_path: str,
    ) -> None:
        self.lookup = f"{field_path}__{field.target_field.name}__exact"
        super().__init__(field, request, params, model, model_admin, field_path=field_path)
        if self.used_parameters.get(self.lookup) == [""]:  # the form without a choice
            del self.used_parameters[self.lookup]
        self.admin_site = model_admin.admin_site
        remote = self.admin_site._registry.get(field.remote_field.model)
        self.may_view = remote is not None and remote.has_view_permission(request)

    def expected_parameters(self) -> list[str | None]:
        return [self.lookup]

    def has_output(self) -> bool:
        return self.may_view

    def choices(self, changelist: Any) -> Iterator[Any]:
        used: Any = self.used_parameters
        chosen = used.get(self.lookup, [None])[-1]
        form = forms.Form(initial={self.lookup: chosen}, auto_id="filter_%s")
        form.fields[self.lookup] = AutocompleteField(self.field, self.admin_site, required=False)
        others = {name: values for name, values in changelist.filter_params.items() if name != self.lookup}
        yield {"field": form[self.lookup], "others": others}
