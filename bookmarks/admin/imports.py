"""The import page of the bookmark admin, which can check a file before it imports it, and the links to the page."""

import logging
from collections.abc import Iterable, Iterator
from contextlib import nullcontext, suppress
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlencode

from django import forms
from django.core.exceptions import PermissionDenied
from django.db import Error, router, transaction
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.template.defaultfilters import filesizeformat
from django.urls import URLPattern
from django.utils import timezone
from django.utils.text import capfirst
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _
from django.views.decorators.csrf import csrf_exempt, csrf_protect

from bookmarks import conf
from bookmarks.files import FORMATS, encodings, guess_format, positions
from bookmarks.files.comma_separated import csv_line
from bookmarks.files.importing import read, store
from bookmarks.files.report import Report, printable
from bookmarks.models import Bookmark, Collection
from usergroups.admin_tools.autocomplete import AutocompleteField
from usergroups.admin_tools.related import FILTERS_PARAM, owners_in_filters
from usergroups.contract.requests import may_exceed
from usergroups.signals import acting_as

from .exports import OF_GROUP, ExportAdmin

logger = logging.getLogger(__name__)

REPORT = "import_report"
"""The key in the session of the report on the last file, so that the page can be reloaded."""

MAX_DETAILS = 200
"""The maximum number of refused records, and of names of collections, in a report."""

MAX_TEXT = 500  # characters of a URL or title in a report


class ImportForm(forms.Form):
    """The file, and the user group that gets its bookmarks. It begins with the owner of the filtered list."""

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
        initial = model_admin.with_user_group(request, owners_in_filters(model_admin, request))
        super().__init__(data, files, initial=initial)
        field: Any = Bookmark._meta.get_field("user_group")
        user_group = AutocompleteField(field, model_admin.admin_site, label=capfirst(field.verbose_name))
        self.fields = {"user_group": user_group, **self.fields}

    def clean_file(self) -> Any:
        file = self.cleaned_data["file"]
        if guess_format(file.name) is None:
            text = gettext("The file extension is not supported. Use one of: %(extensions)s.")
            raise forms.ValidationError(text % {"extensions": ", ".join(FORMATS)})
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


class ImportAdmin(ExportAdmin):
    """An admin of bookmarks with an import page."""

    change_list_template = "admin/bookmarks/bookmark/change_list.html"

    def get_urls(self) -> list[URLPattern]:
        # Under ATOMIC_REQUESTS, an import that fails would also roll back the bookmarks that it has already stored.
        non_atomic = transaction.non_atomic_requests(router.db_for_write(Bookmark))
        # Django's CSRF check reads the whole body, so import_view() makes it last.
        import_view = non_atomic(csrf_exempt(self.import_view))
        return [self.page_path("import/", import_view, "import"), *super().get_urls()]

    def get_related_links(self, request: HttpRequest) -> list[tuple[str, str]]:
        importing = [(gettext("Import"), self.url_of("import"))] if self.has_import_permission(request) else []
        return [*super().get_related_links(request), *importing, (gettext("Export"), self.url_of("export"))]

    def changelist_view(self, request: HttpRequest, extra_context: Any = None) -> Any:
        return super().changelist_view(
            request, {**(extra_context or {}), "can_import": self.has_import_permission(request)}
        )

    def has_import_permission(self, request: HttpRequest) -> bool:
        return self.has_add_permission(request) and request.user.has_perm(f"{self.opts.app_label}.add_collection")

    def import_view(self, request: HttpRequest) -> HttpResponse:
        """Show the page. Refuse a file that is not permitted or too large before it is read and stored."""
        if not self.has_import_permission(request):
            raise PermissionDenied  # The file may contain new collections.
        if not may_exceed(request, conf.max_import_size()):
            response: HttpResponse = csrf_protect(self.import_file)(request)
            return response
        text = gettext("The file is larger than %(size)s.") % {"size": filesizeformat(conf.max_import_size())}
        refusal = self.render_form(request, ImportForm(self, request), problem=text)
        refusal.status_code = 413
        return refusal

    def import_file(self, request: HttpRequest) -> HttpResponse:
        """Import or check the file, and redirect to the page with the report."""
        if request.method != "POST":
            report = request.session.get(REPORT) if "report" in request.GET else None
            if report and request.GET["report"] == "csv":
                return refused_as_csv(report["refused_records"])
            return self.render_form(request, ImportForm(self, request), report=report)
        form = ImportForm(self, request, request.POST, request.FILES)
        if not form.is_valid():
            return self.render_form(request, form)
        report = self.store_file(request, form.cleaned_data, is_check="check" in request.POST)
        request.session[REPORT] = report
        query = {"report": "last", FILTERS_PARAM: urlencode({OF_GROUP: report["user_group"]})}
        return redirect(f"{self.url_of('import')}?{urlencode(query)}")

    def store_file(self, request: HttpRequest, data: dict[str, Any], is_check: bool) -> dict[str, Any]:
        """Store the bookmarks of the file, and roll this back if it is only a check. Return what the page shows."""
        user_group, file, begin, using = data["user_group"], data["file"], timezone.now(), router.db_for_write(Bookmark)
        name = str(user_group)  # Load the team before the import, during which it may be deleted.
        file_format = str(guess_format(file.name))
        report = DetailedReport()
        records = report.watch(read(file, file_format, data["encoding"], conf.max_import_size()))
        collections: list[str] = []
        try:
            with acting_as(request.user), transaction.atomic(using) if is_check else nullcontext():
                store(user_group, records, report, update=data["update"])
                new = Collection.objects.using(using).filter(user_group=user_group, created_at__gte=begin)
                collections = list(new.order_by("name").values_list("name", flat=True)[:MAX_DETAILS])
                if is_check:
                    transaction.set_rollback(True, using)
        except Error:
            logger.exception("An import failed.")
            report.error = gettext("The database failed. Import the file again to import the rest.")
        finally:
            # Also log a failed import, because the bookmarks stored before are kept.
            if not is_check and (report.created or report.updated):
                updated = f" and updated {report.updated}" if report.updated else ""
                with suppress(Error):
                    self.log_change(request, user_group, f"Imported {report.created} bookmarks{updated}.")
        numbers = {name: getattr(report, name) for name in ("created", "updated", "existing", "refused", "error")}
        return {
            **numbers,
            "is_check": is_check,
            "user_group": user_group.pk,
            "name": name,
            "remarks": list(report.remarks),
            "collections": collections,
            "refusals": [(capfirst(positions(file_format, each)), each.reason) for each in report.refusals],
            "refused_records": report.refused_records,
        }

    def render_form(self, request: HttpRequest, form: forms.Form, **context: Any) -> HttpResponse:
        context |= {"media": self.media + form.media, "can_view": self.has_view_permission(request)}
        return self.render_page(
            request, "bookmarks/import_form.html", gettext("Import bookmarks"), form=form, **context
        )


def refused_as_csv(records: list[list[Any]]) -> HttpResponse:
    """Return refused records as a file."""
    headers = {"Content-Disposition": 'attachment; filename="refused.csv"'}
    rows = [["line", "url", "title", "reason"], *([str(line), *texts] for line, *texts in records)]
    return HttpResponse(map(csv_line, rows), content_type="text/csv; charset=utf-8", headers=headers)
