"""Links from the page of a row to the lists of its related rows."""

from collections.abc import Iterator, Mapping
from typing import NotRequired, TypedDict

from django.contrib.admin.utils import flatten_fieldsets, get_fields_from_path
from django.db import models
from django.http import HttpRequest, HttpResponseRedirect
from django.shortcuts import redirect
from django.utils.http import urlencode
from django.utils.translation import gettext

from .autocomplete import AutocompleteFilter
from .lists import ReadOnlyListAdmin, filter_name
from .pages import M, PagesAdmin, can_view, change_url
from .paginator import bounded_number

Link = tuple[str, str]
"""A label and an address."""


class RelatedList(TypedDict):
    """A list of rows that belong to another row, as its page shows it."""

    name: str
    count: str
    url: str
    links: NotRequired[list[Link]]


class RelatedListsAdmin(PagesAdmin[M]):
    """An admin whose pages link to the lists that are filtered by their row.

    These are the lists with an AutocompleteFilter for the model of the row.
    """

    def get_related(self, request: HttpRequest, obj: M) -> list[RelatedList]:
        """Return the lists for this row that the user may view."""
        related: list[RelatedList] = []
        for model in self.opts.apps.get_models():
            if not can_view(self.admin_site, request, model):
                continue
            other = self.admin_site.get_model_admin(model)
            # The page shows the last events, with a link to the others.
            if isinstance(other, ReadOnlyListAdmin):
                continue
            if isinstance(other, RelatedListsAdmin):
                related += other.lists_filtered_by(request, obj)
        return related

    def lists_filtered_by(
        self, request: HttpRequest, obj: models.Model
    ) -> Iterator[RelatedList]:
        """Yield this list for each of its filters by a foreign key to the
        model of ``obj``.
        """
        key_name = obj._meta.pk.name
        for each in self.get_list_filter(request):
            if not is_autocomplete_filter(each):
                continue
            field_path = filter_name(each)
            field = get_fields_from_path(self.model, field_path)[-1]
            if field.related_model is type(obj):
                query = {f"{field_path}__{key_name}__exact": obj.pk}
                related = self.related_list(request, query)
                related["links"] = self.get_related_links(request, field_path, obj)
                yield related

    def related_list(
        self, request: HttpRequest, query: Mapping[str, str | int]
    ) -> RelatedList:
        """Return this list with these filters."""
        rows = self.get_queryset(request).filter(**query)
        count = bounded_number(rows)
        name = str(self.opts.verbose_name_plural)
        url = f"{self.url_of('changelist')}?{urlencode(query)}"
        return {"name": name, "count": count, "url": url}

    def response_post_save_add(
        self, request: HttpRequest, obj: M
    ) -> HttpResponseRedirect:
        """Return to the page whose "Add" opened the form, if any."""
        for field in self.opts.fields:
            key = request.GET.get(field.name)
            if field.is_relation and key == str(field.value_from_object(obj)):
                return redirect(change_url(self.admin_site, getattr(obj, field.name)))
        return super().response_post_save_add(request, obj)

    def get_related_links(
        self, request: HttpRequest, field_path: str, obj: models.Model
    ) -> list[Link]:
        """Return links such as "Add bookmark", which open a form with
        ``obj`` in the field.
        """
        if not self.has_add_permission(request):
            return []
        fieldsets = self.get_fieldsets(request)
        if field_path not in flatten_fieldsets(fieldsets):
            return []
        text = gettext("Add %(name)s") % {"name": self.opts.verbose_name}
        query = urlencode({field_path: obj.pk})
        return [(text, f"{self.url_of('add')}?{query}")]


def is_autocomplete_filter(each: object) -> bool:
    """Return whether an element of ``list_filter`` is a field with an
    AutocompleteFilter.
    """
    return isinstance(each, tuple) and issubclass(each[1], AutocompleteFilter)
