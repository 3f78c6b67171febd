"""The list of what was done with user groups, which their pages link to."""

from collections.abc import Sequence
from typing import Any

from django.contrib import admin
from django.db import router
from django.db.models import Q, QuerySet
from django.http import Http404, HttpRequest, HttpResponse
from django.urls import URLPattern
from django.utils.html import format_html, format_html_join
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from .admin_tools.autocomplete import AutocompleteFilter
from .admin_tools.changes import (
    show_change,
    show_counts,
    show_object,
    visible_models,
)
from .admin_tools.fields import is_valid_value
from .admin_tools.lists import ReadOnlyListAdmin
from .events import Event, Kind, history

LARGE_FIELDS = ("refused_lines", "user_group__mapping", "user_group__properties")


@admin.register(Event)
class TimelineAdmin(ReadOnlyListAdmin[Event]):
    """A read-only list of events, of which it shows those about models that
    the user may view.
    """

    list_display = ("at", "actor_name", "group_link", "description")
    list_filter = (("user_group", AutocompleteFilter), "kind")
    list_select_related = ("user_group__team",)
    empty_text = _(
        "Changes by operators, imports and exports are listed here, and what "
        "applications rotate, revoke and delete."
    )

    def get_urls(self) -> list[URLPattern]:
        route = "<path:key>/refused/"
        page = self.page_path(route, self.refused_lines_view, "refused")
        return [page, *super().get_urls()]

    def complete_rows(self, request: HttpRequest, rows: Sequence[Any]) -> None:
        """Set the entries of the admin's history about the changes."""
        keys = [event.entry for event in rows if event.kind == Kind.CHANGED]
        entries = history().select_related("content_type").in_bulk(keys)
        for event in rows:
            event.change = entries.get(event.entry)

    def get_ordering(self, request: HttpRequest) -> tuple[str, ...]:
        # Order a filtered list as an index does. Otherwise, PostgreSQL might
        # read the events of all groups.
        if "user_group__id__exact" in request.GET:
            return ("-user_group_id", "-id")
        return ("-id",)

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        """Also return whether an event has refused lines, and do not load
        them.
        """
        labels = [
            model._meta.label_lower
            for model in visible_models(self.admin_site, request)
        ]
        events = super().get_queryset(request).using(router.db_for_write(Event))
        events = events.annotate(has_refused_lines=~Q(refused_lines=""))
        return events.filter(model__in=labels).defer(*LARGE_FIELDS)

    def has_view_permission(self, request: HttpRequest, obj: object = None) -> bool:
        return bool(visible_models(self.admin_site, request))

    def refused_lines_view(self, request: HttpRequest, key: str) -> HttpResponse:
        """Return the refused lines of an import as a file."""
        lines: Any = ""
        if is_valid_value(Event._meta.pk, key):
            events = self.get_queryset(request).filter(pk=key)
            lines = events.values_list("refused_lines", flat=True).first()
        if not lines:
            raise Http404
        return HttpResponse(
            lines,
            content_type="text/csv; charset=utf-8",
            headers={"Content-Disposition": 'attachment; filename="refused.csv"'},
        )

    @admin.display(description=_("by"))
    def actor_name(self, event: Event) -> str:
        return event.actor

    @admin.display(description=_("user group"))
    def group_link(self, event: Event) -> str:
        if event.user_group is None:
            return "-"
        return self.link_to(event.user_group)

    @admin.display(description=_("event"))
    def description(self, event: Any) -> str:
        """Return the change of an operator, or the kind of the event, the
        numbers and the text.
        """
        if event.change is not None:
            changed = show_object(self.admin_site, event.change)
            change = show_change(self.admin_site, event.change)
            return format_html("{} · {}", changed, change)
        counts = show_counts(self.admin_site, event.counts)
        parts = [event.get_kind_display(), counts, event.text]
        if event.has_refused_lines:
            link = format_html(
                '<a href="{}">{}</a>',
                self.url_of("refused", event.pk),
                gettext("Refused lines as CSV"),
            )
            parts.append(link)
        return format_html_join(" · ", "{}", [[part] for part in parts if part])
