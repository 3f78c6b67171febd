"""The context of a page, such as the team of the filtered list or of the row's page from which it was opened.

Django's links carry the filters of the list in the parameter ``_changelist_filters``, and lead back to that list.
"""

from collections.abc import Iterator
from typing import Any
from urllib.parse import urlencode

from django.contrib.admin.utils import get_fields_from_path
from django.db import models, router
from django.http import HttpRequest, QueryDict

from .autocomplete import is_valid_value
from .lists import display_count
from .permissions import admin_url, can_view

FILTERS_PARAM = "_changelist_filters"
"""Django's query parameter with the query of the list to which a page returns."""


def list_params(request: HttpRequest) -> QueryDict:
    """Return the parameters of the list from which a page was opened."""
    return QueryDict(request.GET.get(FILTERS_PARAM, ""))


def limit_param(path: str) -> str:
    """Return the query parameter that limits an autocompletion to rows with this foreign key."""
    return f"of_{path}"


def foreign_key_filters(model_admin: Any, request: HttpRequest) -> Iterator[tuple[str, Any]]:
    """Yield the lookup and the field of each foreign key by which the list can be filtered."""
    for each in model_admin.get_list_filter(request):
        path = each[0] if isinstance(each, tuple) else each
        if isinstance(path, str) and (field := get_fields_from_path(model_admin.model, path)[-1]).many_to_one:
            yield path, field


def context_of(model_admin: Any, request: HttpRequest) -> dict[str, str]:
    """Return the keys of the rows by which the list is filtered, by lookup, for those that the user may view."""
    params, context = list_params(request), {}
    for path, field in foreign_key_filters(model_admin, request):
        key = params.get(f"{path}__{field.target_field.name}__exact")
        is_valid = key and is_valid_value(field.target_field, key)
        if is_valid and can_view(model_admin.admin_site, request, field.related_model):
            context[path] = str(key)
    return context


def limit_to(rows: Any, model_admin: Any, request: HttpRequest) -> Any:
    """Return those of the rows that an autocompletion with the parameters of ``limit_param`` offers."""
    for path, field in foreign_key_filters(model_admin, request):
        key = request.GET.get(limit_param(path))
        if key and is_valid_value(field.target_field, key):
            rows = rows.filter(**{path: key})
    return rows


def related_rows(model_admin: Any, request: HttpRequest, row: models.Model) -> Iterator[dict[str, Any]]:
    """Yield the name, the number, the list and the links of the rows of each model that belong to the row.

    These are the models that the user may view.
    """
    site, opts = model_admin.admin_site, model_admin.opts
    for model in opts.apps.get_models():
        if model._meta.concrete_model is opts.concrete_model or not can_view(site, request, model):
            continue
        other = site.get_model_admin(model)
        for path in _paths_to(model_admin.model, other, request):
            lookup = f"{path}__{opts.pk.name}__exact"
            if other.lookup_allowed(lookup, str(row.pk), request):
                yield related_list(other, request, {path: row}, {lookup: str(row.pk)})


def related_list(other: Any, request: HttpRequest, conditions: dict[str, Any], query: dict[str, str]) -> dict[str, Any]:
    """Return the name, the number and the address of a list with this query, and the links of its rows."""
    rows = other.get_queryset(request).using(router.db_for_write(other.model)).filter(**conditions)
    encoded = urlencode(query)
    links = other.get_context_links(request) if hasattr(other, "get_context_links") else []
    return {
        "name": str(other.opts.verbose_name_plural),
        "count": display_count(rows),
        "url": f"{admin_url(other.admin_site, other.opts, 'changelist')}?{encoded}",
        "links": [(label, f"{url}?{urlencode({FILTERS_PARAM: encoded})}") for label, url in links],
    }


def _paths_to(model: Any, other: Any, request: HttpRequest) -> list[str]:
    """Return the lookups of rows of ``model``: those of foreign keys or, if there are none, of filters of the list."""
    own = [(field.name, field) for field in other.model._meta.fields if field.many_to_one]
    for candidates in (own, foreign_key_filters(other, request)):
        if found := [path for path, field in candidates if issubclass(model, field.related_model or ())]:
            return found
    return []
