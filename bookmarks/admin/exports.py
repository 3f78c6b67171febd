"""Links that export the bookmarks of a user group as a file."""

from urllib.parse import urlencode

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.db.models import Model
from django.http import Http404, HttpRequest, StreamingHttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect
from django.urls import URLPattern
from django.utils import timezone
from django.utils.http import content_disposition_header
from django.utils.text import slugify
from django.utils.translation import gettext

from bookmarks.exports import Download, record_export
from bookmarks.files import EXPORT_FORMATS, MEDIA_TYPES
from bookmarks.models import Bookmark
from usergroups.admin_tools.pages import change_url
from usergroups.api import conf as usergroups_conf
from usergroups.api.throttling import Deadline
from usergroups.models import UserGroup
from usergroups.signals import acting_as

from .owned import OwnedAdmin

MAX_PART = 60  # characters of each name in the name of a file
# Of bookmarks. An operator would not see that a larger file is not complete.
MAX_EXPORTED = 200_000


class ExportingAdmin(OwnedAdmin[Bookmark]):
    """An admin that exports the bookmarks of a user group."""

    def get_urls(self) -> list[URLPattern]:
        export = self.page_path("export/", self.export_view, "export")
        return [export, *super().get_urls()]

    def get_related_links(
        self, request: HttpRequest, field_path: str, obj: Model
    ) -> list[tuple[str, str]]:
        """Add a link for each format to the page of a user group."""
        links = super().get_related_links(request, field_path, obj)
        if field_path != "user_group":
            return links
        for format_name in EXPORT_FORMATS:
            text = gettext("Export as %(format)s") % {"format": format_name.upper()}
            query = urlencode({"user_group": obj.pk, "format": format_name})
            links.append((text, f"{self.url_of('export')}?{query}"))
        return links

    def export_view(self, request: HttpRequest) -> HttpResponseBase:
        """Export all bookmarks of a user group, with its empty collections, as
        a file.
        """
        if not self.has_view_permission(request):
            raise PermissionDenied
        # Its get_object() returns None for an invalid key.
        group_admin = self.admin_site.get_model_admin(UserGroup)
        key = request.GET.get("user_group", "")
        user_group = group_admin.get_object(request, key)
        format_name = request.GET.get("format")
        if user_group is None or format_name not in EXPORT_FORMATS:
            raise Http404
        if user_group.bookmarks.all()[MAX_EXPORTED:].exists():
            text = gettext(
                "There are more than %(number)s bookmarks. Export them with the "
                "command export_bookmarks."
            )
            messages.error(request, text % {"number": MAX_EXPORTED})
            return redirect(change_url(self.admin_site, user_group))
        with acting_as(request.user):
            record_export(user_group, format_name)
        names = [user_group.team.name, user_group.name, "bookmarks"]
        parts = [name[:MAX_PART] for name in names]
        title = f"{' '.join(parts)} {timezone.now():%Y-%m-%d}"
        file_name = f"{slugify(title, allow_unicode=True)}.{format_name}"
        disposition = content_disposition_header(True, file_name)
        deadline = Deadline(usergroups_conf.call_time_limit())
        return StreamingHttpResponse(
            Download(user_group, format_name, deadline),
            content_type=MEDIA_TYPES[format_name],
            headers={"Content-Disposition": disposition},
        )
