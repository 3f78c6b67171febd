"""The admin of access tokens, collections and bookmarks, with the import and
the export of files.
"""

import json
import logging
from collections.abc import Iterable, Iterator
from contextlib import closing, suppress
from dataclasses import dataclass, field
from functools import partial
from typing import Any, ClassVar
from urllib.parse import urlencode

from django import forms
from django.contrib import admin, messages
from django.contrib.admin.models import CHANGE
from django.contrib.humanize.templatetags.humanize import intcomma
from django.core.exceptions import PermissionDenied
from django.db import Error, router, transaction
from django.db.models import Q
from django.http import Http404, HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect
from django.template.defaultfilters import filesizeformat
from django.urls import URLPattern
from django.utils import timezone
from django.utils.html import format_html
from django.utils.text import capfirst, format_lazy, slugify
from django.utils.translation import gettext, gettext_noop
from django.utils.translation import gettext_lazy as _

from bookmarks import conf, web_url
from bookmarks.files import (
    EXPORT_FORMATS,
    FORMATS,
    MEDIA_TYPES,
    guess_format,
    positions,
)
from bookmarks.files.comma_separated import csv_line
from bookmarks.files.content import UnreadableFile, open_content
from bookmarks.files.decoding import encoding_name
from bookmarks.files.exporting import StorageUnavailable, download, load
from bookmarks.files.importing import read, rolled_back_if, store
from bookmarks.files.report import Report, printable
from bookmarks.models import AccessToken, Bookmark, Collection
from bookmarks.public_ids import Duplicate
from usergroups.admin_tools.base import (
    ConfirmationForm,
    OperatorAdmin,
    requires_confirmation,
)
from usergroups.admin_tools.forms import autocomplete_field, is_valid_value, kept_row
from usergroups.admin_tools.lists import (
    AutocompleteFilter,
    admin_url,
    log_rows,
    two_lines,
)
from usergroups.api import conf as usergroups_conf
from usergroups.api.deadlines import Deadline, TimeLimitExceeded
from usergroups.models import UserGroup
from usergroups.signals import acting_as
from usergroups.tokens.admin import TokenAdmin

logger = logging.getLogger(__name__)

# the key of the last report in the session, from which a reload of the page
# shows it again
REPORT = "import_report"
MAX_DETAILS = 200  # refused records, and names of collections, in a report
MAX_TEXT = 500  # characters of a URL or title in a report

# limits the autocompletion of collections to those of a user group
USER_GROUP_PARAM = "of_user_group"
EDITABLE = ("collection", "title")  # on the page of a bookmark


class OwnedAdmin(OperatorAdmin):
    """An admin of rows that belong to a user group."""

    list_filter: ClassVar[Any] = (
        ("user_group", AutocompleteFilter),
        ("user_group__team", AutocompleteFilter),
    )
    list_select_related: ClassVar[Any] = ("user_group__team",)
    deferred_fields = ("user_group__mapping", "user_group__properties")
    autocomplete_fields: ClassVar[Any] = ("user_group",)
    ordering = ("-id",)

    @admin.display(description=_("user group"))
    def user_group_link(self, row: Any) -> str:
        group = row.user_group
        identity = ", ".join(filter(None, (group.provided_id, group.environment)))
        return self.link_to(group, two_lines(group.name, identity))

    @admin.display(description=_("team"))
    def team_link(self, row: Any) -> str:
        return self.link_to(row.user_group.team)


OWNER_COLUMNS = ("user_group_link", "team_link")


@admin.register(AccessToken)
class AccessTokenAdmin(TokenAdmin, OwnedAdmin):
    owner_fields = ("user_group",)
    owner_columns = OWNER_COLUMNS
    list_filter = (*TokenAdmin.list_filter, *OwnedAdmin.list_filter)
    search_fields = (
        "name",
        "hint",
        "user_group__name",
        "user_group__provided_id",
        "user_group__team__name",
    )
    empty_text = _(
        "An access token lets an application manage the bookmarks of a user group."
    )


@admin.register(Collection)
class CollectionAdmin(OwnedAdmin):
    list_display = ("name", *OWNER_COLUMNS, "created")
    search_fields = ("name", "user_group__name", "user_group__provided_id")
    find_fields = ("name", "id")
    fields = ("user_group", "name", "id", "created_at", "updated_at")
    empty_text = _("Applications create collections with POST /v1/collections.")
    deletion_note = _(
        "The bookmarks are kept, without a collection. If bookmarks become duplicates, "
        "only the oldest is kept."
    )

    def get_readonly_fields(
        self, request: HttpRequest, obj: Collection | None = None
    ) -> tuple[str, ...]:
        generated = ("id", "created_at", "updated_at")
        return (*generated, "user_group") if obj else generated

    def get_search_results(
        self, request: HttpRequest, queryset: Any, search_term: str
    ) -> tuple[Any, bool]:
        key = request.GET.get(USER_GROUP_PARAM)
        if key and is_valid_value(UserGroup._meta.pk, key):
            queryset = queryset.filter(user_group=key)
        return super().get_search_results(request, queryset, search_term)


class MoveForm(ConfirmationForm):
    """The collection to move bookmarks of one user group to, or the choice of
    none.
    """

    no_collection = forms.BooleanField(
        label=_("No collection"),
        help_text=_("Move the bookmarks out of their collections."),
        required=False,
    )

    def __init__(
        self, model_admin: Any, request: HttpRequest, rows: list[Bookmark]
    ) -> None:
        super().__init__(model_admin, request, rows)
        user_group = rows[0].user_group
        if any(bookmark.user_group_id != user_group.pk for bookmark in rows):
            self.refusals = [gettext("Select the bookmarks of one user group.")]
        field: Any = Bookmark._meta.get_field("collection")
        choice = autocomplete_field(field, model_admin.admin_site, help_text="")
        limit_to_group(choice, user_group)
        self.fields = {"collection": choice, **self.fields}

    def clean(self) -> dict[str, Any]:
        values: dict[str, Any] = self.cleaned_data
        if (
            "collection" in values
            and (values["collection"] is None) != values["no_collection"]
        ):
            self.add_error(
                "collection", gettext("Choose a collection, or else “No collection”.")
            )
        return values


def limit_to_group(field: Any, user_group: UserGroup) -> None:
    """Let a field for a collection accept and offer only those of the user
    group.
    """
    field.queryset = user_group.collections.for_write().select_related(
        "user_group__team"
    )
    # without the wrapper for links to other forms
    widget = getattr(field.widget, "widget", field.widget)
    widget.query_params = {USER_GROUP_PARAM: user_group.pk}
    field.error_messages["invalid_choice"] = _("The user group has no such collection.")


class ImportForm(forms.Form):
    """A file, the user group that gets its bookmarks, and how to read it."""

    file = forms.FileField(
        label=_("File"),
        help_text=format_lazy(
            _(
                "A file that a browser or bookmark service exported: {extensions}, "
                "the file Bookmarks of a profile of Chrome, or a ZIP with such a file."
            ),
            extensions=", ".join(f".{name}" for name in FORMATS),
        ),
    )
    encoding = forms.CharField(
        label=_("Encoding"),
        help_text=_(
            "Only for a file that is not in UTF-8 and does not name its encoding, for "
            "example windows-1252."
        ),
        required=False,
    )
    update = forms.BooleanField(
        label=_("Update existing bookmarks"),
        help_text=_("Give them the values in the file."),
        required=False,
    )

    def __init__(
        self,
        model_admin: Any,
        request: HttpRequest,
        data: Any = None,
        files: Any = None,
    ) -> None:
        super().__init__(
            data, files, initial=model_admin.get_changeform_initial_data(request)
        )
        user_group: Any = Bookmark._meta.get_field("user_group")
        collection: Any = Bookmark._meta.get_field("collection")
        site = model_admin.admin_site
        choice = autocomplete_field(
            collection,
            site,
            help_text=_("Import into this one, not into those that the file names."),
        )
        # Offer the collections of the user group if it is known.
        if "user_group" in self.initial:
            choice.widget.query_params = {USER_GROUP_PARAM: self.initial["user_group"]}
        self.fields = {
            "user_group": autocomplete_field(user_group, site),
            "file": self.fields["file"],
            "collection": choice,
            **self.fields,
        }

    def clean_encoding(self) -> str | None:
        label = self.cleaned_data["encoding"]
        try:
            return encoding_name(label) if label else None
        except ValueError as error:
            raise forms.ValidationError(str(error)) from None

    def clean_collection(self) -> Collection | None:
        collection: Collection | None = self.cleaned_data["collection"]
        user_group = self.cleaned_data.get("user_group")
        if collection and user_group and collection.user_group_id != user_group.pk:
            raise forms.ValidationError(
                gettext("The user group has no such collection.")
            )
        return collection

    def clean(self) -> dict[str, Any]:
        values: dict[str, Any] = self.cleaned_data
        file = values.get("file")
        if file is None:
            return values
        limit = conf.max_import_size()
        if file.size > limit:
            text = gettext("The file is larger than %(size)s.")
            self.add_error("file", text % {"size": filesizeformat(limit)})
            return values
        try:
            values["content"], name = open_content(file.file, file.name, limit)
        except UnreadableFile as error:
            self.add_error("file", str(error))
            return values
        values["format"] = guess_format(name)
        if values["format"] is None:
            text = gettext(
                "The file extension is not supported. Use one of: %(extensions)s."
            )
            self.add_error("file", text % {"extensions": ", ".join(FORMATS)})
        return values


@dataclass
class DetailedReport(Report):
    """A report that also has the first refused records."""

    refused_records: list[list[Any]] = field(default_factory=list)
    """The line, the URL, the title and the reason of each."""

    def watch(self, records: Iterable[Any]) -> Iterator[Any]:
        """Yield the records, and remember the current one, for which
        ``refuse`` may be called.
        """
        for self.record in records:
            yield self.record

    def refuse(self, line: int, reason: str) -> None:
        super().refuse(line, reason)
        if len(self.refused_records) < MAX_DETAILS:
            values = [
                getattr(self.record, name, None) or "" for name in ("url", "title")
            ]
            self.refused_records.append(
                [line, *(printable(str(value)[:MAX_TEXT]) for value in values), reason]
            )


@admin.register(Bookmark)
class BookmarkAdmin(OwnedAdmin):
    list_display = ("url", "title", *OWNER_COLUMNS, "in_collection", "created")
    list_filter = (*OwnedAdmin.list_filter, ("collection", AutocompleteFilter))
    list_select_related = ("user_group__team", "collection")
    search_fields = ("url", "title")
    find_fields = ("id",)
    # Only the default ordering, by creation, has an index on every database.
    sortable_by = ()
    autocomplete_fields: ClassVar[Any] = ("user_group", "collection")
    actions = ("move", "delete_selected")
    object_actions = {"move": _("Move")}
    empty_text = _("Applications create bookmarks with POST /v1/bookmarks.")

    def matching(self, text: str, lookup: str) -> Q:
        with suppress(ValueError):  # The text is not a URL.
            # URLs and ids match as a whole.
            return Q(url_digest=web_url.digest(text)) if lookup == "exact" else Q()
        return super().matching(text, lookup)

    def details(self, row: Bookmark) -> list[Any]:
        return [row.title, row.user_group]

    def get_ordering(self, request: HttpRequest) -> tuple[str, ...]:
        # Order a filtered list as an index does. Otherwise, PostgreSQL might
        # read the bookmarks of all groups.
        filtered = any(
            f"{name}__id__exact" in request.GET for name in ("user_group", "collection")
        )
        return ("-user_group_id", "-created_at", "-id") if filtered else self.ordering

    def get_fields(
        self, request: HttpRequest, obj: Bookmark | None = None
    ) -> tuple[str, ...]:
        if obj is None:
            return ("user_group", "url", "title")
        return (*EDITABLE, "user_group", "url_link", "id", "created_at", "updated_at")

    def get_readonly_fields(
        self, request: HttpRequest, obj: Bookmark | None = None
    ) -> tuple[str, ...]:
        return self.get_fields(request, obj)[len(EDITABLE) :] if obj else ()

    def get_form(
        self,
        request: HttpRequest,
        obj: Bookmark | None = None,
        change: bool = False,
        **kwargs: Any,
    ) -> Any:
        form = super().get_form(request, obj, change, **kwargs)
        if obj is not None and "collection" in form.base_fields:
            limit_to_group(form.base_fields["collection"], obj.user_group)
        return form

    @admin.action(
        description=_("Move selected %(verbose_name_plural)s to a collection"),
        permissions=["change"],
    )
    @requires_confirmation(
        _("Move %(rows)s to a collection"),
        _("A bookmark whose URL is in the collection already stays where it is."),
        MoveForm,
    )
    def move(
        self,
        request: HttpRequest,
        queryset: Any,
        collection: Collection | None,
        no_collection: bool,
    ) -> str:
        """Move bookmarks of a user group to a collection, or out of their
        collections, by the rules of the API.
        """
        rows = list(queryset)
        if collection is not None:
            # Lock the collection, so that it cannot be deleted until the
            # transaction ends.
            stored = Collection.objects.for_write().filter(
                pk=collection.pk, user_group=collection.user_group_id
            )
            if stored.select_for_update(no_key=True).first() is None:
                return gettext("The collection no longer exists. Nothing was changed.")
        to_move = {
            row.pk: row
            for row in rows
            if row.collection_id != (collection and collection.pk)
        }
        results = []
        if rows:
            ids = [str(key) for key in to_move]
            user_group = rows[0].user_group
            results = Bookmark.objects.move_by_ids(user_group, ids, collection)
        moved = [bookmark for bookmark in results if isinstance(bookmark, Bookmark)]
        log_rows(
            request.user,
            CHANGE,
            [
                (row, move_message(to_move[row.pk].collection, collection))
                for row in moved
            ],
        )
        text = gettext(
            "Moved to “%(name)s”: %(moved)s. Already there: %(there)s. "
            "Not moved because of a duplicate: %(duplicates)s."
        )
        return text % {
            "name": collection.name if collection else gettext("No collection"),
            "moved": intcomma(len(moved)),
            "there": intcomma(len(rows) - len(to_move)),
            "duplicates": intcomma(results.count(Duplicate)),
        }

    @admin.display(description="URL")
    def url_link(self, bookmark: Bookmark) -> str:
        """Return a link that sends no referrer, or only the text if the scheme
        is not http or https.
        """
        if not bookmark.url.lower().startswith(("http://", "https://")):
            return bookmark.url
        return format_html(
            '<a href="{0}" target="_blank" rel="noopener noreferrer">{0}</a>',
            bookmark.url,
        )

    @admin.display(description=_("collection"))
    def in_collection(self, bookmark: Bookmark) -> str | None:
        return bookmark.collection.name if bookmark.collection else None

    # Import and export

    def get_urls(self) -> list[URLPattern]:
        # Under ATOMIC_REQUESTS, an import that fails would also roll back the
        # bookmarks that it has already stored.
        non_atomic = transaction.non_atomic_requests(router.db_for_write(Bookmark))
        return [
            # A method takes no attributes.
            self.page_path("import/", non_atomic(partial(self.import_view)), "import"),
            self.page_path("export/", self.export_view, "export"),
            *super().get_urls(),
        ]

    def get_related_links(
        self, request: HttpRequest, field_path: str, obj: Any
    ) -> list[tuple[str, str]]:
        links = super().get_related_links(request, field_path, obj)
        if field_path == "user_group":
            query = urlencode({field_path: obj.pk})
            if self.has_import_permission(request):
                links.append((gettext("Import"), f"{self.url_of('import')}?{query}"))
            for name in EXPORT_FORMATS:
                text = gettext("Export as %(format)s") % {"format": name.upper()}
                links.append((text, f"{self.url_of('export')}?{query}&format={name}"))
        return links

    def export_view(self, request: HttpRequest) -> HttpResponseBase:
        """Export all bookmarks of a user group, with its empty collections, as
        a file.
        """
        if not self.has_view_permission(request):
            raise PermissionDenied
        key, name = request.GET.get("user_group", ""), request.GET.get("format")
        user_group = self.admin_site.get_model_admin(UserGroup).get_object(request, key)
        if user_group is None or name not in EXPORT_FORMATS:
            raise Http404
        headers = {
            "Content-Disposition": (
                "attachment;"
                f' filename="{slugify(user_group.name) or "bookmarks"}.{name}"'
            )
        }
        deadline = Deadline(usergroups_conf.call_time_limit())
        try:
            # Close the items after an error, because they keep a transaction
            # open.
            with closing(load(user_group)) as items:
                text = EXPORT_FORMATS[name].write(items)
                return download(
                    text, deadline, content_type=MEDIA_TYPES[name], headers=headers
                )
        except StorageUnavailable:
            problem = gettext("The server cannot store the file. Try again later.")
        except TimeLimitExceeded:
            problem = gettext(
                "The export took too long. Try again later, or use the command "
                "export_bookmarks."
            )
        messages.error(request, problem)
        return redirect(
            admin_url(self.admin_site, UserGroup._meta, "change", user_group.pk)
        )

    def has_import_permission(self, request: HttpRequest) -> bool:
        """Return whether the user may add bookmarks, and collections, which
        the file may also contain.
        """
        return self.has_add_permission(request) and request.user.has_perm(
            f"{self.opts.app_label}.add_collection"
        )

    def import_view(self, request: HttpRequest) -> HttpResponse:
        """Show the form and the last report, or import or check a file and
        redirect to its report.
        """
        if not self.has_import_permission(request):
            raise PermissionDenied
        if request.method != "POST":
            report = request.session.get(REPORT) if "report" in request.GET else None
            if report and request.GET["report"] == "csv":
                rows = [["line", "url", "title", "reason"], *report["refused_records"]]
                lines = (csv_line(map(str, row)) for row in rows)
                headers = {"Content-Disposition": 'attachment; filename="refused.csv"'}
                return HttpResponse(
                    lines, content_type="text/csv; charset=utf-8", headers=headers
                )
            return self.render_import(request, ImportForm(self, request), report=report)
        form = ImportForm(self, request, request.POST, request.FILES)
        if not form.is_valid():
            return self.render_import(request, form)
        report = self.store_file(
            request, form.cleaned_data, is_check="check" in request.POST
        )
        request.session[REPORT] = report
        query = {"report": "last", "user_group": report["user_group"]}
        return redirect(f"{self.url_of('import')}?{urlencode(query)}")

    def store_file(
        self, request: HttpRequest, data: dict[str, Any], is_check: bool
    ) -> dict[str, Any]:
        """Store the bookmarks of the file, and roll this back if it is only a
        check. Return what the page shows.
        """
        user_group = data["user_group"]
        file_format = data["format"]
        begin = timezone.now()
        using = router.db_for_write(Bookmark)
        report = DetailedReport()
        records = report.watch(read(data["content"], file_format, data["encoding"]))
        collections: list[str] = []
        try:
            with acting_as(request.user), rolled_back_if(is_check, using):
                deadline = Deadline(usergroups_conf.call_time_limit())
                store(
                    user_group,
                    records,
                    report,
                    data["collection"],
                    data["update"],
                    deadline=deadline,
                )
                new = Collection.objects.using(using).filter(
                    user_group=user_group, created_at__gte=begin
                )
                collections = list(
                    new.order_by("name").values_list("name", flat=True)[:MAX_DETAILS]
                )
        except Error:
            logger.exception("An import failed.")
            report.error = gettext("The database failed. Try the file again.")
        finally:
            # Also log a failed import, because the bookmarks stored before are
            # kept.
            if not is_check and (report.created or report.updated):
                # makemessages does not look into f-strings
                message = gettext_noop("Imported bookmarks")
                with suppress(Error):
                    self.log_change(
                        request,
                        user_group,
                        f"{message}: {report.created + report.updated}",
                    )
        results = {
            name: getattr(report, name)
            for name in ("created", "updated", "existing", "refused", "error")
        }
        return {
            **results,
            "is_check": is_check,
            "user_group": user_group.pk,
            "name": str(user_group),
            "remarks": list(report.remarks),
            "collections": collections,
            "refusals": [
                (capfirst(positions(file_format, each)), each.reason)
                for each in report.refusals
            ],
            "refused_records": report.refused_records,
        }

    def render_import(
        self, request: HttpRequest, form: forms.Form, **context: Any
    ) -> HttpResponse:
        context |= {
            "form": form,
            "media": self.media + form.media,
            "can_view": self.has_view_permission(request),
        }
        return self.render_page(
            request,
            "bookmarks/import_form.html",
            gettext("Import bookmarks"),
            **context,
        )


def move_message(old: Collection | None, new: Collection | None) -> str:
    """Return the message for the history that saving the form of the bookmark
    would write.
    """
    values = {"collection": [kept_row(old), kept_row(new)]}
    return json.dumps([{"changed": {"fields": ["Collection"], "values": values}}])
