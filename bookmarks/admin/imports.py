"""The import page of the bookmark admin, and the links to it and to the export page."""

import logging
from contextlib import suppress
from typing import Any

from django import forms
from django.core.exceptions import PermissionDenied
from django.db import Error, router, transaction
from django.http import HttpRequest, HttpResponse
from django.template.defaultfilters import filesizeformat
from django.urls import URLPattern, path
from django.utils.text import capfirst
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _
from django.views.decorators.csrf import csrf_exempt, csrf_protect

from bookmarks import conf
from bookmarks.files import FORMATS, encodings, guess_format, positions, read
from bookmarks.files.importing import store
from bookmarks.files.report import Report
from bookmarks.models import Bookmark
from usergroups.contract.body import may_exceed
from usergroups.models import UserGroup
from usergroups.signals import acting_as

from .exports import ExportAdmin
from .forms import UserGroupForm

logger = logging.getLogger(__name__)


class ImportForm(UserGroupForm):
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


class ImportAdmin(ExportAdmin):
    """An admin of bookmarks with an import page."""

    change_list_template = "admin/bookmarks/bookmark/change_list.html"

    def get_urls(self) -> list[URLPattern]:
        # Under ATOMIC_REQUESTS, an import that fails would also roll back the bookmarks that it has already stored.
        non_atomic = transaction.non_atomic_requests(router.db_for_write(Bookmark))
        # Django's CSRF check reads the whole body, so import_view() makes it last.
        import_view = non_atomic(self.admin_site.admin_view(csrf_exempt(self.import_view)))
        name = f"{self.opts.app_label}_{self.opts.model_name}_import"
        return [path("import/", import_view, name=name), *super().get_urls()]

    def get_context_links(self, request: HttpRequest) -> list[tuple[str, str]]:
        return [*super().get_context_links(request), *self.get_file_links(request)]

    def get_file_links(self, request: HttpRequest) -> list[tuple[str, str]]:
        """Return the labels and URLs of the import and export pages that the user may open."""
        importing = [(gettext("Import"), self.url_of("import"))] if self.has_import_permission(request) else []
        return [*importing, (gettext("Export"), self.url_of("export"))]

    def changelist_view(self, request: HttpRequest, extra_context: Any = None) -> HttpResponse:
        return super().changelist_view(request, {"file_links": self.get_file_links(request), **(extra_context or {})})

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
        form = ImportForm(self, request, *((request.POST, request.FILES) if request.method == "POST" else ()))
        if not form.is_valid():
            return self.render_form(request, form)
        user_group, file = form.cleaned_data["user_group"], form.cleaned_data["file"]
        name = str(user_group)  # Load the team before the import, during which it may be deleted.
        file_format = str(guess_format(file.name))
        records = read(file, file_format, form.cleaned_data["encoding"], conf.max_import_size())
        report = Report()
        try:
            with acting_as(request.user):
                store(user_group, records, report, update=form.cleaned_data["update"])
        except Error:
            logger.exception("An import failed.")
            report.error = gettext("The database failed. Import the file again to import the rest.")
        finally:
            # Also log a failed import, because the bookmarks stored before are kept.
            self.log_import(request, user_group, report)
        title = gettext("Bookmarks imported") if report.created or report.updated else gettext("No bookmarks imported")
        refusals = [(capfirst(positions(file_format, each)), each.reason) for each in report.refusals]
        result = {"user_group": user_group, "name": name, "report": report, "refusals": refusals}
        can_view = self.has_view_permission(request)
        return self.render_page(request, "bookmarks/imported.html", title, can_view=can_view, **result)

    def log_import(self, request: HttpRequest, user_group: UserGroup, report: Report) -> None:
        """Write what an import stored to the history, if it did and the database still works."""
        updated = f" and updated {report.updated}" if report.updated else ""
        with suppress(Error):
            if report.created or report.updated:
                self.log_change(request, user_group, f"Imported {report.created} bookmarks{updated}.")

    def render_form(self, request: HttpRequest, form: forms.Form, **context: Any) -> HttpResponse:
        media = self.media + form.media
        title = gettext("Import bookmarks")
        return self.render_page(request, "bookmarks/file_form.html", title, form=form, media=media, **context)
