"""The page that imports a file, which can check it before, and the export of the bookmarks of a user group."""

import logging
from collections.abc import Iterable, Iterator
from contextlib import nullcontext, suppress
from dataclasses import dataclass, field
from functools import partial
from typing import Any
from urllib.parse import urlencode

from django import forms
from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.db import Error, router, transaction
from django.http import Http404, HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect
from django.template.defaultfilters import filesizeformat
from django.urls import URLPattern
from django.utils import timezone
from django.utils.text import capfirst, slugify
from django.utils.translation import gettext, gettext_noop
from django.utils.translation import gettext_lazy as _

from bookmarks import conf
from bookmarks.files import EXPORT_FORMATS, FORMATS, MEDIA_TYPES, encodings, guess_format, positions
from bookmarks.files.comma_separated import csv_line
from bookmarks.files.exporting import StorageUnavailable, download, load
from bookmarks.files.importing import read, rolled_back_if, store
from bookmarks.files.report import Report, printable
from bookmarks.models import Bookmark, Collection
from usergroups.admin_tools.base import OperatorAdmin
from usergroups.admin_tools.forms import AutocompleteField
from usergroups.admin_tools.lists import admin_url
from usergroups.models import UserGroup
from usergroups.signals import acting_as

logger = logging.getLogger(__name__)

REPORT = "import_report"
"""The key in the session of the report on the last file, so that the page can be reloaded."""

MAX_DETAILS = 200
"""The maximum number of refused records, and of names of collections, in a report."""

MAX_TEXT = 500  # characters of a URL or title in a report

EXPORT_LABELS = {"html": "HTML", "csv": "CSV", "jsonl": "JSON Lines"}


class ImportForm(forms.Form):
    """A file, and the user group that gets its bookmarks."""

    file = forms.FileField(
        label=_("File"),
        help_text=_(
            "HTML, CSV, JSON or JSON Lines as exported by browsers and bookmark services, with that file extension. It "
            "may be compressed with gzip, as .html.gz."
        ),
    )
    update = forms.BooleanField(
        label=_("Update existing bookmarks"),
        help_text=_("Give them the titles and the dates that are in the file."),
        required=False,
    )
    encoding = forms.CharField(
        label=_("Encoding"),
        help_text=_("Only for a file that does not declare it and is not in UTF-8, such as windows-1252."),
        required=False,
    )

    def __init__(self, model_admin: Any, request: HttpRequest, data: Any = None, files: Any = None) -> None:
        super().__init__(data, files, initial=model_admin.get_changeform_initial_data(request))
        field: Any = Bookmark._meta.get_field("user_group")
        user_group = AutocompleteField(field, model_admin.admin_site, label=capfirst(field.verbose_name))
        self.fields = {"user_group": user_group, **self.fields}

    def clean_file(self) -> Any:
        file = self.cleaned_data["file"]
        if guess_format(file.name) is None:
            text = gettext("The file extension is not supported. Use one of: %(extensions)s.")
            raise forms.ValidationError(text % {"extensions": ", ".join(FORMATS)})
        if file.size > conf.max_import_size():
            text = gettext("The file is larger than %(size)s.")
            raise forms.ValidationError(text % {"size": filesizeformat(conf.max_import_size())})
        return file

    def clean_encoding(self) -> str | None:
        label: str = self.cleaned_data["encoding"]
        try:
            return encodings.lookup(label) if label else None
        except ValueError as error:
            raise forms.ValidationError(str(error)) from None


@dataclass
class DetailedReport(Report):
    """A report that also has the first refused records."""

    refused_records: list[list[Any]] = field(default_factory=list)
    """The line, the URL, the title and the reason of each."""

    def watch(self, records: Iterable[Any]) -> Iterator[Any]:
        for self.record in records:
            yield self.record

    def refuse(self, line: int, reason: str) -> None:
        super().refuse(line, reason)
        if len(self.refused_records) < MAX_DETAILS:
            values = [getattr(self.record, name, None) or "" for name in ("url", "title")]
            self.refused_records.append([line, *(printable(str(value)[:MAX_TEXT]) for value in values), reason])


class FilesAdmin(OperatorAdmin):
    """An admin of bookmarks with the import and the export of files."""

    change_list_template = "admin/bookmarks/bookmark/change_list.html"

    def get_urls(self) -> list[URLPattern]:
        # Under ATOMIC_REQUESTS, an import that fails would also roll back the bookmarks that it has already stored.
        non_atomic = transaction.non_atomic_requests(router.db_for_write(Bookmark))
        return [
            self.page_path("import/", non_atomic(partial(self.import_view)), "import"),
            self.page_path("export/", self.export_view, "export"),
            *super().get_urls(),
        ]

    def get_related_links(self, request: HttpRequest, path: str, obj: Any) -> list[tuple[str, str]]:
        links = super().get_related_links(request, path, obj)
        if path == "user_group":
            query = urlencode({path: obj.pk})
            if self.has_import_permission(request):
                links.append((gettext("Import"), f"{self.url_of('import')}?{query}"))
            for name, label in EXPORT_LABELS.items():
                text = gettext("Export as %(format)s") % {"format": label}
                links.append((text, f"{self.url_of('export')}?{query}&format={name}"))
        return links

    def changelist_view(self, request: HttpRequest, extra_context: Any = None) -> Any:
        return super().changelist_view(
            request, {**(extra_context or {}), "can_import": self.has_import_permission(request)}
        )

    def export_view(self, request: HttpRequest) -> HttpResponseBase:
        """Export all bookmarks of a user group, with its empty collections, as a file."""
        if not self.has_view_permission(request):
            raise PermissionDenied
        key, name = request.GET.get("user_group", ""), request.GET.get("format")
        user_group = self.admin_site.get_model_admin(UserGroup).get_object(request, key)
        if user_group is None or name not in EXPORT_FORMATS:
            raise Http404
        headers = {"Content-Disposition": f'attachment; filename="{slugify(user_group.name) or "bookmarks"}.{name}"'}
        chunks = (chunk.encode() for chunk in EXPORT_FORMATS[name].write(load(user_group)))
        try:
            return download(chunks, nullcontext(), content_type=MEDIA_TYPES[name], headers=headers)
        except StorageUnavailable:
            messages.error(request, gettext("The server cannot store the file. Try again later."))
            return redirect(admin_url(self.admin_site, UserGroup._meta, "change", user_group.pk))

    def has_import_permission(self, request: HttpRequest) -> bool:
        return self.has_add_permission(request) and request.user.has_perm(f"{self.opts.app_label}.add_collection")

    def import_view(self, request: HttpRequest) -> HttpResponse:
        """Import or check a file, and redirect to the page with the report."""
        if not self.has_import_permission(request):
            raise PermissionDenied  # The file may contain new collections.
        if request.method != "POST":
            report = request.session.get(REPORT) if "report" in request.GET else None
            if report and request.GET["report"] == "csv":
                return refused_as_csv(report["refused_records"])
            return self.render_import(request, ImportForm(self, request), report=report)
        form = ImportForm(self, request, request.POST, request.FILES)
        if not form.is_valid():
            return self.render_import(request, form)
        report = self.store_file(request, form.cleaned_data, is_check="check" in request.POST)
        request.session[REPORT] = report
        query = {"report": "last", "user_group": report["user_group"]}
        return redirect(f"{self.url_of('import')}?{urlencode(query)}")

    def store_file(self, request: HttpRequest, data: dict[str, Any], is_check: bool) -> dict[str, Any]:
        """Store the bookmarks of the file, and roll this back if it is only a check. Return what the page shows."""
        user_group, file, begin, using = data["user_group"], data["file"], timezone.now(), router.db_for_write(Bookmark)
        file_format = str(guess_format(file.name))
        report = DetailedReport()
        records = report.watch(read(file, file_format, data["encoding"], conf.max_import_size()))
        collections: list[str] = []
        try:
            with acting_as(request.user), rolled_back_if(is_check, using):
                store(user_group, records, report, update=data["update"])
                new = Collection.objects.using(using).filter(user_group=user_group, created_at__gte=begin)
                collections = list(new.order_by("name").values_list("name", flat=True)[:MAX_DETAILS])
        except Error:
            logger.exception("An import failed.")
            report.error = gettext("The database failed. Try the file again.")
        finally:
            # Also log a failed import, because the bookmarks stored before are kept.
            if not is_check and (report.created or report.updated):
                message = gettext_noop("Imported bookmarks")  # makemessages does not look into f-strings
                with suppress(Error):
                    self.log_change(request, user_group, f"{message}: {report.created + report.updated}")
        numbers = {name: getattr(report, name) for name in ("created", "updated", "existing", "refused", "error")}
        return {
            **numbers,
            "is_check": is_check,
            "user_group": user_group.pk,
            "name": str(user_group),
            "remarks": list(report.remarks),
            "collections": collections,
            "refusals": [(capfirst(positions(file_format, each)), each.reason) for each in report.refusals],
            "refused_records": report.refused_records,
        }

    def render_import(self, request: HttpRequest, form: forms.Form, **context: Any) -> HttpResponse:
        context |= {"form": form, "media": self.media + form.media, "can_view": self.has_view_permission(request)}
        return self.render_page(request, "bookmarks/import_form.html", gettext("Import bookmarks"), **context)


def refused_as_csv(records: list[list[Any]]) -> HttpResponse:
    """Return refused records as a file."""
    headers = {"Content-Disposition": 'attachment; filename="refused.csv"'}
    rows = [["line", "url", "title", "reason"], *([str(line), *texts] for line, *texts in records)]
    return HttpResponse(map(csv_line, rows), content_type="text/csv; charset=utf-8", headers=headers)
