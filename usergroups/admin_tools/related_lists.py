"""Links from the page of a row to the lists of its related rows."""

from typing import Any, TypeAlias

from django.contrib.admin.utils import flatten_fieldsets
from django.db import models
from django.http import HttpRequest, HttpResponseRedirect
from django.shortcuts import redirect
from django.utils.http import urlencode
from django.utils.translation import gettext

from .pages import M, PagesAdmin, can_view, change_url
from .paginator import bounded_number

Link = tuple[str, str]
"""A label and an address."""


RelatedLists: TypeAlias = tuple[tuple[type[models.Model], str], ...]


class RelatedListsAdmin(PagesAdmin[M]):
    """An admin whose pages link to the lists of what belongs to their row."""

    related: RelatedLists = ()
    """The models of these lists, and by which lookup each is filtered."""

    def get_related(self, request: HttpRequest, obj: M) -> list[dict[str, object]]:
        """Return the lists for this row that the user may view."""
        related: list[dict[str, object]] = []
        for model, lookup in self.related:
            if can_view(self.admin_site, request, model):
                other: Any = self.admin_site.get_model_admin(model)
                related.append(other.related_list(request, lookup, obj))
        return related

    def related_list(
        self, request: HttpRequest, lookup: str, obj: models.Model
    ) -> dict[str, object]:
        """Return the name, the number, the address and the links of this list,
        filtered by ``obj``.
        """
        query = {f"{lookup}__{obj._meta.pk.name}__exact": obj.pk}
        return {
            "name": str(self.opts.verbose_name_plural),
            "count": bounded_number(self.get_queryset(request).filter(**query)),
            "url": f"{self.url_of('changelist')}?{urlencode(query)}",
            "links": self.get_related_links(request, lookup, obj),
        }

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
        """Return links to forms that add a row, such as "Add bookmark", with
        ``obj`` in the field: the row, of another admin, whose page has the links.
        """
        if not self.has_add_permission(request):
            return []
        fieldsets = self.get_fieldsets(request)
        if field_path not in flatten_fieldsets(fieldsets):
            return []
        text = gettext("Add %(name)s") % {"name": self.opts.verbose_name}
        query = urlencode({field_path: obj.pk})
        return [(text, f"{self.url_of('add')}?{query}")]
