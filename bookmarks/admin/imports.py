"""The page that imports the bookmarks of a file into a user group."""

import logging
from contextlib import suppress
from functools import partial
from typing import Any
from urllib.parse import urlencode

from django import forms
from django.core.exceptions import PermissionDenied
from django.db import Error, router, transaction
from django.db.models import Model
from django.http import HttpRequest, HttpResponse
from django.template.defaultfilters import filesizeformat
from django.urls import URLPattern
from django.utils import timezone
from django.utils.text import format_lazy
from django.utils.translation import gettext, gettext_noop
from django.utils.translation import gettext_lazy as _

from bookmarks import conf
from bookmarks.files import FORMATS, guess_format
from bookmarks.files.importing import read, rolled_back_if, store
from bookmarks.models import Bookmark, Collection
from usergroups.admin_tools.autocomplete import autocomplete_field
from usergroups.admin_tools.pages import let_browsers_go_back
from usergroups.api import conf as usergroups_conf
from usergroups.api.deadlines import Deadline
from usergroups.signals import acting_as

from .import_report import MAX_DETAILS, DetailedReport
from .owned import OwnedAdmin

logger = logging.getLogger(__name__)


class ImportForm(forms.Form):
    """A file, and the user group that gets its bookmarks."""

    file = forms.FileField(
        label=_("File"),
        help_text=format_lazy(
            _(
                "A file that a browser or bookmark service exported: {extensions}. It "
                "may be compressed, as .html.gz."
            ),
            extensions=", ".join(f".{name}" for name in FORMATS),
        ),
    )
    update = forms.BooleanField(
        label=_("Update existing bookmarks"),
        help_text=_("Give them the values in the file."),
        required=False,
    )

    def __init__(
        self, model_admin: "ImportingAdmin", *args: Any, **kwargs: Any
    ) -> None:
        super().__init__(*args, **kwargs)
        field: Any = Bookmark._meta.get_field("user_group")
        choice = autocomplete_field(field, model_admin.admin_site)
        # The user group comes before the file.
        self.fields = {"user_group": choice, **self.fields}

    def clean_file(self) -> object:
        """Refuse a file of an unknown format or over the maximum size."""
        file: Any = self.cleaned_data["file"]
        if guess_format(str(file.name)) is None:
            text = gettext(
                "The file extension is not supported. Use one of: %(extensions)s."
            )
            raise forms.ValidationError(text % {"extensions": ", ".join(FORMATS)})
        limit = conf.max_import_size()
        if file.size is None or file.size > limit:
            text = gettext("The file is larger than %(size)s.")
            raise forms.ValidationError(text % {"size": filesizeformat(limit)})
        return file


class ImportingAdmin(OwnedAdmin[Bookmark]):
    """An admin that imports files."""

    def get_urls(self) -> list[URLPattern]:
        # Under ATOMIC_REQUESTS, an import that fails would also roll back the
        # bookmarks that it has already stored.
        non_atomic = transaction.non_atomic_requests(router.db_for_write(Bookmark))
        # The decorator sets an attribute, which a method does not allow, but a
        # partial does.
        view = non_atomic(partial(self.import_view))
        page = self.page_path("import/", view, "import", cacheable=True)
        return [page, *super().get_urls()]

    def get_related_links(
        self, request: HttpRequest, field_path: str, obj: Model
    ) -> list[tuple[str, str]]:
        links = super().get_related_links(request, field_path, obj)
        if field_path == "user_group" and self.has_import_permission(request):
            query = urlencode({field_path: obj.pk})
            links.append((gettext("Import"), f"{self.url_of('import')}?{query}"))
        return links

    def has_import_permission(self, request: HttpRequest) -> bool:
        """Return whether the user may add bookmarks, and collections, which
        the file may also contain.
        """
        permission = f"{self.opts.app_label}.add_collection"
        return self.has_add_permission(request) and request.user.has_perm(permission)

    def import_view(self, request: HttpRequest) -> HttpResponse:
        """Show the form, or import or check a file and show the report."""
        if not self.has_import_permission(request):
            raise PermissionDenied
        if request.method != "POST":
            initial = self.get_changeform_initial_data(request)
            return self.render_import(request, ImportForm(self, initial=initial))
        form = ImportForm(self, request.POST, request.FILES)
        if not form.is_valid():
            return self.render_import(request, form)
        is_dry_run = "check" in request.POST
        report = self.store_file(request, form.cleaned_data, is_dry_run)
        # for the next file
        new_form = ImportForm(self, initial={"user_group": report.user_group})
        return self.render_import(request, new_form, report=report)

    def store_file(
        self, request: HttpRequest, values: dict[str, Any], is_dry_run: bool
    ) -> DetailedReport:
        """Store the bookmarks of the file and return the report.

        A dry run is rolled back.
        """
        begin = timezone.now()
        using = router.db_for_write(Bookmark)
        file = values["file"]
        user_group = values["user_group"]
        report = DetailedReport(
            user_group=user_group,
            format_name=str(guess_format(file.name)),
            is_dry_run=is_dry_run,
        )
        limit = conf.max_import_size()
        records = report.watch(read(file, report.format_name, limit=limit))
        deadline = Deadline(usergroups_conf.call_time_limit())
        try:
            with acting_as(request.user), rolled_back_if(is_dry_run, using):
                store(
                    user_group,
                    records,
                    report,
                    update=values["update"],
                    deadline=deadline,
                )
                # the collections that the import has created
                new = Collection.objects.using(using).filter(
                    user_group=user_group, created_at__gte=begin
                )
                names = new.order_by("name").values_list("name", flat=True)
                report.collections = list(names[:MAX_DETAILS])
        except Error:
            logger.exception("An import failed.")
            report.error = gettext("The database failed. Try the file again.")
        finally:
            # Also log a failed import, because the bookmarks that it stored
            # before it failed are kept.
            number = report.created + report.updated
            if number and not is_dry_run:
                # makemessages does not look into f-strings
                message = gettext_noop("Imported bookmarks")
                with suppress(Error):
                    self.log_change(request, user_group, f"{message}: {number}")
        return report

    def render_import(
        self,
        request: HttpRequest,
        form: ImportForm,
        report: DetailedReport | None = None,
    ) -> HttpResponse:
        response = self.render_page(
            request,
            "bookmarks/import_form.html",
            gettext("Import bookmarks"),
            form=form,
            report=report,
            media=self.media + form.media,
            can_view=self.has_view_permission(request),
        )
        return let_browsers_go_back(response)
