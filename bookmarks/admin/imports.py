"""The import page of the bookmark admin, and the links to it and to the export page."""

from typing import Any

from django import forms
from django.core.exceptions import PermissionDenied
from django.db import router, transaction
from django.http import HttpRequest, HttpResponse
from django.urls import URLPattern, path
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from bookmarks.files import FORMATS, guess_format, read
from bookmarks.files.chunks import UserGroupDeleted
from bookmarks.files.importing import store
from bookmarks.files.report import Report
from bookmarks.models import Bookmark
from usergroups.signals import acting_as

from .exports import ExportAdmin
from .forms import UserGroupForm


class ImportForm(UserGroupForm):
    file = forms.FileField(
        label=_("File"),
        help_text=_("HTML as exported by browsers, JSON Lines or CSV, with that file extension."),
    )

    def clean_file(self) -> Any:
        file = self.cleaned_data["file"]
        if guess_format(file.name) is None:
            text = gettext("The file extension is not supported. Use one of: %(extensions)s.")
            raise forms.ValidationError(text % {"extensions": ", ".join(FORMATS)})
        return file


class ImportAdmin(ExportAdmin):
    """An admin of bookmarks with an import page."""

    change_list_template = "admin/bookmarks/bookmark/change_list.html"

    def get_urls(self) -> list[URLPattern]:
        # Under ATOMIC_REQUESTS, an import that fails would also roll back the bookmarks that it has already stored.
        non_atomic = transaction.non_atomic_requests(router.db_for_write(Bookmark))
        import_view = non_atomic(self.admin_site.admin_view(self.import_view))
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
        return self.has_add_permission(request) and request.user.has_perm("bookmarks.add_collection")

    def import_view(self, request: HttpRequest) -> HttpResponse:
        if not self.has_import_permission(request):
            raise PermissionDenied  # The file may contain new collections.
        form = ImportForm(self, request, *((request.POST, request.FILES) if request.method == "POST" else ()))
        if not form.is_valid():
            return self.render_form(request, form, gettext("Import bookmarks"))
        user_group, file = form.cleaned_data["user_group"], form.cleaned_data["file"]
        name = str(user_group)  # Load the team before the import, during which it may be deleted.
        report = Report()
        problem = ""
        try:
            with acting_as(request.user):
                for chunk in store(user_group, read(file, str(guess_format(file.name)))):
                    report.add(chunk)
        except UserGroupDeleted:
            problem = gettext("The user group and its bookmarks were deleted during the import.")
        finally:
            if report.created:  # Also log a failed import, because the bookmarks stored before are kept.
                self.log_change(request, user_group, f"Imported {report.created} bookmarks.")
        title = gettext("Bookmarks imported") if report.created else gettext("No bookmarks imported")
        result = {"user_group": user_group, "name": name, "report": report, "problem": problem}
        can_view = self.has_view_permission(request)
        return self.render_page(request, "bookmarks/imported.html", title, can_view=can_view, **result)

    def render_form(self, request: HttpRequest, form: forms.Form, title: str) -> HttpResponse:
        media = self.media + form.media
        return self.render_page(request, "bookmarks/file_form.html", title, form=form, media=media)
