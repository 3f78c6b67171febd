"""The maximum sizes of forms, which depend on the page and its user."""

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.urls import Resolver404, resolve
from django.utils.deprecation import MiddlewareMixin

from bookmarks.conf import max_import_size

from .handlers import error_page
from .middleware import PagesOnly

KIB = 1024
MIB = 1024 * KIB
MAX_ANONYMOUS_FORM = 64 * KIB  # bytes, as of all sizes below
MAX_FORM = 2560 * KIB
IMPORT_PAGE = "bookmarks_bookmark_import"
JSON_PAGES = ("usergroups_usergroup_add", "usergroups_usergroup_change")


class FormSizeMiddleware(PagesOnly, MiddlewareMixin):
    """Refuse a form that is too large before Django reads and decodes it.

    Django has one limit for all forms, DATA_UPLOAD_MAX_MEMORY_SIZE, which must
    allow for the JSON of a user group. Decoding as much can take seconds and
    over a gigabyte of memory. Django reads nothing of a body without a
    Content-Length.
    """

    def process_request(self, request: HttpRequest) -> HttpResponse | None:
        """Respond with 413 if the form is too large for its page and its user."""
        try:
            match = resolve(request.path_info)
        except Resolver404:
            return None
        if match.app_name != "admin":
            return None
        try:
            size = int(request.META.get("CONTENT_LENGTH") or 0)
        except ValueError:
            return None  # Django treats the body as empty.
        # The size is checked before the user is loaded, which takes queries.
        if size <= MAX_ANONYMOUS_FORM:
            return None
        if size <= max_form_size(request, match.url_name):
            return None
        return error_page(413)


def max_form_size(request: HttpRequest, url_name: str | None) -> int:
    """Return the maximum size of a form in bytes."""
    if not request.user.is_authenticated:
        return MAX_ANONYMOUS_FORM
    if url_name == IMPORT_PAGE:
        # Accept 1 MiB more than the file may have, so that the import form
        # can name the error of a file that is only a little too large.
        return max_import_size() + MIB
    if url_name in JSON_PAGES:
        return settings.DATA_UPLOAD_MAX_MEMORY_SIZE
    return MAX_FORM
