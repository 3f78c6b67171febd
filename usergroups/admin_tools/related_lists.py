"""Links from the page of a row to the lists of its related rows."""

from collections.abc import Iterable, Iterator
from typing import Any

from django.contrib.admin.utils import flatten_fieldsets, get_fields_from_path
from django.db import models
from django.http import HttpRequest
from django.utils.http import urlencode
from django.utils.translation import gettext

from .model_admin import M
from .pages import PagesAdmin
from .paginator import bounded_count, display_count
from .permissions import can_view


class RelatedListsAdmin(PagesAdmin[M]):
    """An admin whose pages of rows link to the lists of related rows."""

    def get_related(self, request: HttpRequest, obj: M) -> list[dict[str, Any]]:
        """Return a summary of each list that the user may view and that has an
        AutocompleteFilter for this row.
        """
        related = []
        for other in self.viewable_admins(request):
            for field_path in other.filtered_relations(request):
                field: Any = get_fields_from_path(other.model, field_path)[-1]
                if field.related_model is not self.model:
                    continue
                query = {f"{field_path}__{self.opts.pk.name}__exact": obj.pk}
                summary = other.related_list(request, query)
                summary["links"] = other.get_related_links(request, field_path, obj)
                related.append(summary)
        return related

    def viewable_admins(
        self, request: HttpRequest
    ) -> "Iterator[RelatedListsAdmin[Any]]":
        """Yield the admins of this kind whose rows the user may view."""
        for model in self.opts.apps.get_models():
            if can_view(self.admin_site, request, model):
                other = self.admin_site.get_model_admin(model)
                if isinstance(other, RelatedListsAdmin):
                    yield other

    def filtered_relations(self, request: HttpRequest) -> Iterator[str]:
        """Yield the paths of the fields whose filter has a class of its own."""
        filters: Iterable[Any] = self.get_list_filter(request)
        for each in filters:
            if isinstance(each, tuple):
                yield each[0]

    def related_list(
        self, request: HttpRequest, query: dict[str, Any]
    ) -> dict[str, Any]:
        """Return the name, the number of rows and the address of this list
        with these filters.
        """
        number = bounded_count(self.get_queryset(request).filter(**query))
        return {
            "name": str(self.opts.verbose_name_plural),
            "count": display_count(number),
            "url": f"{self.url_of('changelist')}?{urlencode(query)}",
        }

    def get_related_links(
        self, request: HttpRequest, field_path: str, obj: models.Model
    ) -> list[tuple[str, str]]:
        """Return labels and URLs of links such as "Add bookmark here", which
        open a form with ``obj`` in the field.
        """
        if not self.has_add_permission(request):
            return []
        if field_path not in flatten_fieldsets(self.get_fieldsets(request)):
            return []
        text = gettext("Add %(name)s here") % {"name": self.opts.verbose_name}
        query = urlencode({field_path: obj.pk})
        return [(text, f"{self.url_of('add')}?{query}")]
