"""The list of all events, which is the history of a row when it is filtered by
the row.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from pathlib import PurePath
from typing import Any

from django.contrib import admin
from django.contrib.humanize.templatetags.humanize import intcomma
from django.core.exceptions import FieldDoesNotExist
from django.db import models, router
from django.db.models import Q, QuerySet
from django.db.models.functions import Left
from django.http import Http404, HttpRequest, HttpResponse
from django.urls import URLPattern
from django.utils.formats import localize
from django.utils.html import format_html, format_html_join
from django.utils.http import content_disposition_header, urlencode
from django.utils.text import capfirst
from django.utils.timezone import localdate, make_aware
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from usergroups.events import (
    OWNERS,
    Event,
    Kind,
    first_key,
    is_owner,
    keys_text,
    owner_of,
)

from .autocomplete import AutocompleteFilter
from .cells import one_line, relative_time
from .fields import indent_json
from .lists import OperatorListAdmin
from .pages import admin_url, can_view
from .paginator import display_rows

MAX_OPEN = 100
"""The number of characters of a value above which it is collapsed."""

LARGE_FIELDS = (
    "keys",
    "refused_lines",
    "user_group__mapping",
    "user_group__properties",
)


def refused_file_name(file_name: str) -> str:
    """Return the name of the file with the refused lines of a file."""
    return f"refused-{PurePath(file_name).stem}.csv"


def filtered_owner_field(request: HttpRequest) -> str:
    """Return the field of the owner by which the list is filtered, if any."""
    for name in OWNERS:
        if request.GET.get(f"{name}__id__exact"):
            return name
    return ""


class ObjectFilter(admin.SimpleListFilter):
    """A filter by the label of a model and, after a colon, the key of a row, or
    of the event of a whole action.
    """

    title = _("object")
    parameter_name = "object"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        choices = []
        for model in visible_models(model_admin.admin_site, request):
            name = capfirst(str(model._meta.verbose_name))
            choices.append((model._meta.label_lower, name))
        label, colon, key = self.chosen()
        if colon:
            choices.append((f"{label}:{key}", gettext("This one")))
        return choices

    def chosen(self) -> tuple[str, str, str]:
        """Return the label, the colon and the key, which may be empty."""
        return (self.value() or "").partition(":")

    def queryset(
        self, request: HttpRequest, queryset: QuerySet[Event]
    ) -> QuerySet[Event]:
        """Return whole actions, or what they did with the rows by which the
        list is filtered.
        """
        label, colon, key = self.chosen()
        if label:
            queryset = queryset.filter(model=label)
        if colon:
            is_about = Q(keys__contains=keys_text([key]))
            return queryset.filter(is_about | Q(whole=key))
        if filtered_owner_field(request):
            return queryset
        return queryset.filter(whole="")


class DayFilter(admin.SimpleListFilter):
    """A filter by a day or a range of days, such as "2027-05-03" or
    "2027-05-01..2027-05-31".
    """

    title = _("day")
    parameter_name = "day"

    def lookups(
        self, request: HttpRequest, model_admin: object
    ) -> list[tuple[str, str]]:
        today = localdate()
        choices = [
            (str(today), gettext("Today")),
            (str(today - timedelta(days=1)), gettext("Yesterday")),
        ]
        for number in (7, 30, 90):
            first = today - timedelta(days=number - 1)
            text = gettext("Last %(number)s days") % {"number": number}
            choices.append((f"{first}..{today}", text))
        return choices

    def queryset(
        self, request: HttpRequest, queryset: QuerySet[Event]
    ) -> QuerySet[Event]:
        """Filter events by their keys, which have the order of their times."""
        first, _dots, last = (self.value() or "").partition("..")
        if not first:
            return queryset
        start = datetime.fromisoformat(first)
        end = datetime.fromisoformat(last or first) + timedelta(days=1)
        return queryset.filter(
            pk__gte=first_key(make_aware(start)), pk__lt=first_key(make_aware(end))
        )


class EventAdmin(OperatorListAdmin[Event]):
    """A read-only list of events, of which it shows those about models that
    the user may view.
    """

    list_display_links = None
    sortable_by = ()
    actions = ()
    is_linked_by_find = True
    list_display = ("at", "actor", "owner", "description")
    list_filter = (
        ("user_group", AutocompleteFilter),
        ("team", AutocompleteFilter),
        ObjectFilter,
        "kind",
        DayFilter,
    )
    list_select_related = ("user_group__team", "team")
    search_fields = ("actor", "text")

    def get_urls(self) -> list[URLPattern]:
        route = "<path:key>/refused/"
        page = self.page_path(route, self.refused_lines_view, "refused")
        return [page, *super().get_urls()]

    def get_ordering(self, request: HttpRequest) -> tuple[str, ...]:
        # Order a filtered list as an index does. Otherwise, PostgreSQL might
        # read the events of all owners.
        owner_field = filtered_owner_field(request)
        if owner_field:
            return (f"-{owner_field}_id", "-id")
        return ("-id",)

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        """Return the events that the user may view, without large fields, but
        with the first keys, and with whether they have refused lines.
        """
        events = super().get_queryset(request).using(router.db_for_write(Event))
        models = visible_models(self.admin_site, request)
        labels = [model._meta.label_lower for model in models]
        events = events.filter(model__in=labels).defer(*LARGE_FIELDS)
        # A description shows one key. The others may be many.
        return events.annotate(
            first_keys=Left("keys", 300), has_refused_lines=~Q(refused_lines="")
        )

    def has_view_permission(self, request: HttpRequest, obj: object = None) -> bool:
        return bool(visible_models(self.admin_site, request))

    def has_module_permission(self, request: HttpRequest) -> bool:
        return self.has_view_permission(request)

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: object = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: object = None) -> bool:
        return False

    def refused_lines_view(self, request: HttpRequest, key: str) -> HttpResponse:
        """Return the refused lines of an import as a file."""
        event = self.get_object(request, key)
        if event is None or not event.refused_lines:
            raise Http404
        disposition = content_disposition_header(True, refused_file_name(event.text))
        return HttpResponse(
            event.refused_lines,
            content_type="text/csv; charset=utf-8",
            headers={"Content-Disposition": disposition},
        )

    @admin.display(description=_("owner"))
    def owner(self, event: Any) -> str:
        """Return a link to the user group or team, or to the events of each
        owner.
        """
        owner = event.user_group or event.team
        if owner is not None:
            return self.link_to(owner)
        if event.first_keys:
            return "-"
        query = urlencode({"object": f"{event.model}:{event.pk}"})
        return format_html('<a href="?{}">{}</a>', query, gettext("Several"))

    @admin.display(description=_("event"))
    def description(self, event: Any) -> str:
        """Return, as HTML, the kind of the event, the objects, what changed,
        and a link to the refused lines.
        """
        registered = self.admin_site._registry
        models_by_label = {each._meta.label_lower: each for each in registered}
        model = models_by_label[event.model]
        counts = show_counts(event.counts, models_by_label)
        name = event.text
        keys = event.first_keys.split()
        if keys and event.counts.get(event.model) == 1:
            name = event.text or keys[0]
            if event.kind != Kind.DELETED:
                url = admin_url(self.admin_site, model._meta, "change", keys[0])
                name = format_html('<a href="{}">{}</a>', url, name)
        parts = [event.get_kind_display(), counts, name]
        for field_name, pair in (event.changes or {}).items():
            parts.append(show_change(model, field_name, pair))
        if event.has_refused_lines:
            url = self.url_of("refused", event.pk)
            text = gettext("Refused lines as CSV")
            parts.append(format_html('<a href="{}">{}</a>', url, text))
        return one_line(parts)


def recent_events(
    site: admin.AdminSite,
    request: HttpRequest,
    number: int,
    row: models.Model | None = None,
) -> list[dict[str, str | None]]:
    """Return the time, the actor and the description, as HTML, of the last
    events that the user may view: all, or those of a user group or team with
    all that belongs to it, or of another row.
    """
    if not can_view(site, request, Event):
        return []
    event_admin: Any = site.get_model_admin(Event)
    events = event_admin.get_queryset(request).order_by("-pk")
    if row is None:
        events = events.filter(whole="")
    else:
        events = events.filter(**owner_of(row))
        if not is_owner(type(row)):
            label = row._meta.label_lower
            events = events.filter(model=label, keys__contains=keys_text([row.pk]))
    related = event_admin.list_select_related
    return [
        {
            "time": relative_time(event.at),
            "actor": event.actor,
            "description": event_admin.description(event),
        }
        for event in events.select_related(*related)[:number]
    ]


def show_counts(
    counts: Mapping[str, int], models_by_label: Mapping[str, type[models.Model]]
) -> str:
    """Return numbers as text, by an English word or the label of a model. Of
    the models, only those given are shown, and zeros are left out.
    """
    texts = []
    for key, number in counts.items():
        if not number:
            continue
        model = models_by_label.get(key.lower())
        if model is not None:
            texts.append(display_rows(number, model._meta))
        elif "." not in key:
            texts.append(f"{gettext(key)}: {intcomma(number)}")
    return ", ".join(texts)


def show_change(
    model: type[models.Model], name: str, pair: Sequence[object] | None
) -> str:
    """Return the name of a changed field with its old and its new value, if
    they are kept, collapsed if they are long.
    """
    try:
        label = capfirst(str(model._meta.get_field(name).verbose_name))  # type: ignore[union-attr]
    except FieldDoesNotExist:
        label = name
    if pair is None:
        return label
    texts = [value_as_text(value) for value in pair]
    attribute = ""
    if max(map(len, texts)) <= MAX_OPEN:
        attribute = " open"
    values = format_html_join(
        " → ", '<pre class="wrap" dir="auto">{}</pre>', [[text] for text in texts]
    )
    return format_html(
        "<details{}><summary>{}</summary>{}</details>", attribute, label, values
    )


def value_as_text(value: object) -> str:
    """Return a kept value as text."""
    if isinstance(value, dict | list):
        return indent_json(value) or "-"
    return str(localize(value) or "-")


def visible_models(
    site: admin.AdminSite, request: HttpRequest
) -> list[type[models.Model]]:
    """Return the models that the user may view, without the event itself."""
    registered = site._registry
    return [
        model
        for model in registered
        if model is not Event and can_view(site, request, model)
    ]
