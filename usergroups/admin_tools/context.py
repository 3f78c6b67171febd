"""Keep the context of a filtered list or of a row's page, such as a team, on the pages that it links to.

Django's links carry the filters of the list in the parameter ``_changelist_filters``, and lead back to that list.
"""

from collections.abc import Iterator
from typing import Any
from urllib.parse import urlencode

from django.contrib.admin.utils import get_fields_from_path
from django.db import models, router
from django.http import HttpRequest, QueryDict
from django.utils.translation import gettext

from .admin_urls import admin_url
from .autocomplete import AutocompleteSelect, is_valid_value
from .lists import display_count
from .permissions import can_view
from .strictness import StrictAdmin

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


class ContextAdmin(StrictAdmin):
    """An admin whose forms begin with the filters of the list from which they were opened."""

    def get_context(self, request: HttpRequest) -> dict[str, str]:
        """Return the keys of these rows by the lookups of the foreign keys, for those that the user may view."""
        params, context = list_params(request), {}
        for path, field in foreign_key_filters(self, request):
            key = params.get(f"{path}__{field.target_field.name}__exact")
            is_valid = key and is_valid_value(field.target_field, key)
            if is_valid and can_view(self.admin_site, request, field.related_model):
                context[path] = str(key)
        return context

    def get_context_links(self, request: HttpRequest) -> list[tuple[str, str]]:
        """Return the labels and URLs of the pages of this list that use the context and that the user may open."""
        if not self.has_add_permission(request):
            return []
        return [(gettext("Add %(name)s here") % {"name": self.opts.verbose_name}, self.url_of("add"))]

    def url_of(self, page: str, *args: Any) -> str:
        return admin_url(self.admin_site, self.opts, page, *args)

    def get_changeform_initial_data(self, request: HttpRequest) -> dict[str, Any]:
        names, params = self.get_fields(request), list_params(request)
        filtered = {path: key for path, key in self.get_context(request).items() if path in names}
        for field in self.opts.concrete_fields:
            value = params.get(field.name)
            if field.name in names and value in dict(field.choices or ()):
                filtered[field.name] = str(value)
        return {**filtered, **super().get_changeform_initial_data(request)}

    def formfield_for_foreignkey(self, db_field: Any, request: HttpRequest, **kwargs: Any) -> Any:
        if isinstance(widget := kwargs.get("widget"), AutocompleteSelect):
            widget.query_params = self.limits_of(db_field.name, request)
        return super().formfield_for_foreignkey(db_field, request, **kwargs)

    def limits_of(self, name: str, request: HttpRequest) -> dict[str, str]:
        """Return the query parameters that limit the autocompletion of this foreign key to rows of the context."""
        beyond, context = f"{name}__", self.get_context(request)
        return {limit_param(path[len(beyond) :]): key for path, key in context.items() if path.startswith(beyond)}

    def get_search_results(self, request: HttpRequest, queryset: Any, search_term: str) -> tuple[Any, bool]:
        for path, field in foreign_key_filters(self, request):
            key = request.GET.get(limit_param(path))
            if key and is_valid_value(field.target_field, key):
                queryset = queryset.filter(**{path: key})
        return super().get_search_results(request, queryset, search_term)

    def get_related(self, request: HttpRequest, obj: models.Model) -> list[dict[str, Any]]:
        """Return the name, row count, list URL and links of each model that refers to this row.

        These are the models that the user may view. The count is that of the list.
        """
        related = []
        for model_admin, path in self.relations(request):
            lookup, key, model = f"{path}__{self.opts.pk.name}__exact", str(obj.pk), model_admin.model
            if not model_admin.lookup_allowed(lookup, key, request):
                continue
            rows = model_admin.get_queryset(request).using(router.db_for_write(model)).filter(**{path: obj})
            query = urlencode({lookup: key})
            kept = urlencode({FILTERS_PARAM: query})
            links = model_admin.get_context_links(request) if isinstance(model_admin, ContextAdmin) else []
            related.append(
                {
                    "name": str(model._meta.verbose_name_plural),
                    "count": display_count(rows),
                    "url": f"{admin_url(self.admin_site, model._meta, 'changelist')}?{query}",
                    "links": [(label, f"{url}?{kept}") for label, url in links],
                }
            )
        return related

    def relations(self, request: HttpRequest) -> Iterator[tuple[Any, str]]:
        """Yield the admins of the models whose rows belong to rows of this model, and the lookups of the latter.

        A lookup is that of a foreign key, or if there is none, that of a filter of the model's list.
        """
        for model in self.opts.apps.get_models():
            if model._meta.concrete_model is self.opts.concrete_model or not can_view(self.admin_site, request, model):
                continue
            model_admin = self.admin_site.get_model_admin(model)
            own = [(field.name, field) for field in model._meta.fields if field.many_to_one]
            for candidates in (own, foreign_key_filters(model_admin, request)):
                found = [path for path, field in candidates if issubclass(self.model, field.related_model or ())]
                yield from ((model_admin, path) for path in found)
                if found:
                    break
