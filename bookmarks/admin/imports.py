"""The page that imports the bookmarks of a file into a user group."""

import logging
from typing import Any
from urllib.parse import quote, urlencode

from django import forms
from django.core.exceptions import PermissionDenied
from django.core.files.uploadedfile import UploadedFile
from django.db import Error, router
from django.db.models import Model
from django.http import HttpRequest, HttpResponse
from django.template.defaultfilters import filesizeformat
from django.urls import URLPattern
from django.utils.text import format_lazy
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from bookmarks import conf
from bookmarks.files import FORMATS, encoding_name, read
from bookmarks.import_report import Report, refused_lines, translated
from bookmarks.imports import rolled_back_if, store
from bookmarks.models import Bookmark, Collection
from usergroups.admin_tools.autocomplete import autocomplete_field, set_query_params
from usergroups.admin_tools.event_list import refused_file_name
from usergroups.admin_tools.pages import let_browsers_go_back
from usergroups.api import conf as usergroups_conf
from usergroups.api.throttling import Deadline
from usergroups.signals import acting_as

from .collections import USER_GROUP_PARAM
from .owned import OwnedAdmin

logger = logging.getLogger(__name__)


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
        help_text=_(
            "Give them the titles and dates in the file, add its tags, and fill empty "
            "notes."
        ),
        required=False,
    )

    def __init__(
        self, model_admin: "ImportingAdmin", *args: Any, **kwargs: Any
    ) -> None:
        super().__init__(*args, **kwargs)
        site = model_admin.admin_site
        user_group: Any = Bookmark._meta.get_field("user_group")
        collection: Any = Bookmark._meta.get_field("collection")
        group_choice = autocomplete_field(user_group, site)
        choice = autocomplete_field(
            collection,
            site,
            help_text=_("Import into this one, not into those that the file names."),
        )
        # Offer the collections of the user group if it is known.
        if "user_group" in self.initial:
            set_query_params(choice, {USER_GROUP_PARAM: self.initial["user_group"]})
        self.fields["user_group"] = group_choice
        self.fields["collection"] = choice
        self.order_fields(["user_group", "file", "collection"])

    def clean_encoding(self) -> str | None:
        label: str = self.cleaned_data["encoding"]
        if not label:
            return None
        try:
            return encoding_name(label)
        except ValueError as error:
            raise forms.ValidationError(translated(error.args[0])) from None

    def clean_collection(self) -> Collection | None:
        collection: Collection | None = self.cleaned_data["collection"]
        # The choice of a user group may have an error of its own.
        user_group = self.cleaned_data.get("user_group")
        if collection and user_group and collection.user_group != user_group:
            text = gettext("The user group has no such collection.")
            raise forms.ValidationError(text)
        return collection

    def clean_file(self) -> "UploadedFile[bytes]":
        file: UploadedFile[bytes] = self.cleaned_data["file"]
        limit = conf.max_import_size()
        if file.size is None or file.size > limit:
            text = gettext("The file is larger than %(size)s.")
            raise forms.ValidationError(text % {"size": filesizeformat(limit)})
        return file


class ImportingAdmin(OwnedAdmin[Bookmark]):
    """An admin that imports files."""

    def get_urls(self) -> list[URLPattern]:
        page = self.page_path("import/", self.import_view, "import", cacheable=True)
        return [page, *super().get_urls()]

    def get_related_links(
        self, request: HttpRequest, field_path: str, obj: Model
    ) -> list[tuple[str, str]]:
        """Add a link to the import to the page of a user group."""
        links = super().get_related_links(request, field_path, obj)
        if field_path == "user_group" and self.has_import_permission(request):
            query = urlencode({"user_group": obj.pk})
            links.append((gettext("Import"), f"{self.url_of('import')}?{query}"))
        return links

    def has_import_permission(self, request: HttpRequest) -> bool:
        """Return whether the user may add bookmarks, and collections, which
        the file may also contain.
        """
        if not self.has_add_permission(request):
            return False
        return request.user.has_perm(f"{self.opts.app_label}.add_collection")

    def import_view(self, request: HttpRequest) -> HttpResponse:
        """Show the form, or import or check a file and show the report."""
        if not self.has_import_permission(request):
            raise PermissionDenied
        if request.method != "POST":
            initial = self.get_changeform_initial_data(request)
            form = ImportForm(self, initial=initial)
            return self.render_import(request, form)
        form = ImportForm(self, request.POST, request.FILES)
        if not form.is_valid():
            return self.render_import(request, form)
        values = form.cleaned_data
        dry_run = "check" in request.POST
        report = self.store_file(request, values, dry_run)
        # With the lines in the link, nothing has to be stored for a download.
        refused_csv = quote(refused_lines(report.refusals))
        return self.render_import(
            request,
            # for the next file
            ImportForm(self, initial={"user_group": values["user_group"]}),
            report=report,
            user_group=values["user_group"],
            dry_run=dry_run,
            written=report.created + report.updated,
            refused_csv=f"data:text/csv;charset=utf-8,{refused_csv}",
            refused_file_name=refused_file_name(report.file_name),
        )

    def store_file(
        self, request: HttpRequest, values: dict[str, Any], dry_run: bool
    ) -> Report:
        """Store the bookmarks of the file and return the report.

        A dry run is rolled back.
        """
        report = Report(file_name=values["file"].name)
        records = read(
            values["file"].file,
            encoding=values["encoding"],
            name=report.file_name,
            limit=conf.max_import_size(),
        )
        using = router.db_for_write(Bookmark)
        try:
            with acting_as(request.user), rolled_back_if(dry_run, using):
                store(
                    values["user_group"],
                    records,
                    report,
                    values["collection"],
                    values["update"],
                    deadline=Deadline(usergroups_conf.call_time_limit()),
                )
        except Error:
            logger.exception("An import failed.")
            report.error = gettext("The database failed. Try the file again.")
        return report

    def render_import(
        self, request: HttpRequest, form: ImportForm, **context: object
    ) -> HttpResponse:
        response = self.render_page(
            request,
            "bookmarks/import_form.html",
            gettext("Import bookmarks"),
            form=form,
            media=self.media + form.media,
            can_view=self.has_view_permission(request),
            **context,
        )
        return let_browsers_go_back(response)
