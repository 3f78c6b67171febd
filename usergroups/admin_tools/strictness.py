"""Validation of malformed requests, some of which cause a server error in Django's admin."""

from contextlib import suppress
from datetime import datetime
from typing import TYPE_CHECKING, Any

from django.contrib import admin
from django.contrib.admin.helpers import ACTION_CHECKBOX_NAME
from django.contrib.admin.options import IncorrectLookupParameters
from django.core.exceptions import BadRequest, ValidationError
from django.db import DataError
from django.http import HttpRequest
from django.utils.timezone import is_aware, localtime

from .autocomplete import is_valid_value

if TYPE_CHECKING:
    ModelAdmin = admin.ModelAdmin[Any]
else:
    ModelAdmin = admin.ModelAdmin


MAX_SEARCH_WORDS = 50


class StrictAdmin(ModelAdmin):
    """Reject keys and values that a database column cannot hold."""

    def changelist_view(self, request: HttpRequest, extra_context: Any = None) -> Any:
        selected = request.POST.getlist(ACTION_CHECKBOX_NAME)
        if not all(is_valid_value(self.opts.pk, key) for key in selected):
            raise BadRequest("The selection contains an invalid key.")
        return super().changelist_view(request, extra_context)

    def get_changelist_instance(self, request: HttpRequest) -> Any:
        try:
            changelist = super().get_changelist_instance(request)
        except (ValueError, OverflowError, DataError) as error:
            raise IncorrectLookupParameters from error  # Django does this for some of these errors only.
        if not changelist.result_count:
            changelist.result_list = changelist.queryset.none()  # Do not repeat a search without results.
        return changelist

    def lookup_allowed(self, lookup: str, value: str, request: HttpRequest) -> bool:
        """Allow only the lookups of ``list_filter``. Others can cause a server error, depending on the field."""
        if not super().lookup_allowed(lookup, value, request):
            return False
        filters = [each[0] if isinstance(each, tuple) else each for each in self.get_list_filter(request)]
        offered = [getattr(each, "parameter_name", each) for each in filters]
        return any(f"{lookup}__".startswith(f"{name}__") for name in offered)

    def get_changeform_initial_data(self, request: HttpRequest) -> dict[str, Any]:
        fields = {field.name: field for field in self.opts.concrete_fields if field.name in self.get_fields(request)}
        initial = {}
        for name, text in super().get_changeform_initial_data(request).items():
            with suppress(KeyError, ValidationError, OverflowError):
                value = fields[name].to_python(text)
                initial[name] = localtime(value) if isinstance(value, datetime) and is_aware(value) else value
        return initial

    def get_search_results(self, request: HttpRequest, queryset: Any, search_term: str) -> tuple[Any, bool]:
        if "\0" in search_term or len(search_term.split()) > MAX_SEARCH_WORDS:
            return queryset.none(), False
        return super().get_search_results(request, queryset, search_term)
