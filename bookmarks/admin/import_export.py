"""The import and export pages of the bookmark admin."""

from typing import Any

from django import forms
from django.contrib import admin
from django.core.exceptions import PermissionDenied
from django.db import router, transaction
from django.http import HttpRequest, HttpResponse, StreamingHttpResponse
from django.http.response import HttpResponseBase
from django.urls import URLPattern, path
from django.utils.text import capfirst, slugify
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from bookmarks.files import FORMATS, guess_format
from bookmarks.files.chunks import UserGroupDeleted
from bookmarks.files.exporting import load
from bookmarks.files.importing import store
from bookmarks.models import Bookmark
from usergroups.admin_tools.autocomplete import AutocompleteField
from usergroups.admin_tools.base import OperatorAdmin
from usergroups.signals import acting_as

MAX_REASONS = 100  # on the result page

CONTENT_TYPES = {"html": "text/html", "jsonl": "application/jsonl", "csv": "text/csv"}


class UserGroupForm(forms.Form):
    """A form that begins with the choice of a user group."""

    def __init__(self, admin_site: admin.AdminSite, *args: Any) -> None:
        super().__init__(*args)
        field: Any = Bookmark._meta.get_field("user_group")
        user_group = AutocompleteField(field, admin_site, label=capfirst(field.verbose_name))
        self.fields = {"user_group": user_group, **self.fields}


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


class ExportForm(UserGroupForm):
    format = forms.ChoiceField(
        label=_("Format"),
        choices=[("html", _("HTML, for browsers")), ("jsonl", "JSON Lines"), ("csv", "CSV")],
    )


class ImportExportAdmin(OperatorAdmin):
    """An admin of bookmarks with import and export pages."""

    change_list_template = "admin/bookmarks/bookmark/change_list.html"

    def get_urls(self) -> list[URLPattern]:
        site = self.admin_site
        # Under ATOMIC_REQUESTS, an import that fails would also roll back the bookmarks that it has already stored.
        import_view = transaction.non_atomic_requests(router.db_for_write(Bookmark))(site.admin_view(self.import_view))
        return [
            path("import/", import_view, name="bookmarks_bookmark_import"),
            path("export/", site.admin_view(self.export_view), name="bookmarks_bookmark_export"),
            *super().get_urls(),
        ]

    def import_view(self, request: HttpRequest) -> HttpResponse:
        if not (self.has_add_permission(request) and request.user.has_perm("bookmarks.add_collection")):
            raise PermissionDenied  # The file may contain new collections.
        form = ImportForm(self.admin_site, *((request.POST, request.FILES) if request.method == "POST" else ()))
        if not form.is_valid():
            return self.render_form(request, form, gettext("Import bookmarks"))
        user_group, file = form.cleaned_data["user_group"], form.cleaned_data["file"]
        name = str(user_group)  # Load the team before the import, during which it may be deleted.
        created = existing = refused = 0
        reasons: list[Any] = []
        problem = ""
        try:
            with acting_as(request.user):
                for outcome in store(user_group, FORMATS[str(guess_format(file.name))].read(file)):
                    created += outcome.created
                    existing += outcome.existing
                    refused += len(outcome.invalid_records)
                    reasons += outcome.invalid_records[: MAX_REASONS - len(reasons)]
        except UserGroupDeleted:
            problem = gettext("The user group and its bookmarks were deleted during the import.")
        finally:  # Also log a failed import, because the bookmarks stored before are kept.
            self.log_change(request, user_group, f"Imported {created} bookmarks.")
        counts = {"created": created, "existing": existing, "refused": refused}
        result = {"user_group": name, **counts, "reasons": reasons, "problem": problem}
        return self.render_page(request, "bookmarks/imported.html", gettext("Bookmarks imported"), **result)

    def export_view(self, request: HttpRequest) -> HttpResponseBase:
        if not self.has_view_permission(request):
            raise PermissionDenied
        form = ExportForm(self.admin_site, *((request.POST,) if request.method == "POST" else ()))
        if not form.is_valid():
            return self.render_form(request, form, gettext("Export bookmarks"))
        user_group, name = form.cleaned_data["user_group"], form.cleaned_data["format"]
        text = FORMATS[name].write(load(user_group))
        response = StreamingHttpResponse((piece.encode() for piece in text), content_type=CONTENT_TYPES[name])
        filename = f"{slugify(user_group.name) or 'bookmarks'}.{name}"
        response["Content-Disposition"] = f'attachment; filename="{filename}"'
        return response

    def render_form(self, request: HttpRequest, form: forms.Form, title: str) -> HttpResponse:
        media = self.media + form.media
        return self.render_page(request, "bookmarks/file_form.html", title, form=form, media=media)
