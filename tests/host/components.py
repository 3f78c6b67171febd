"""Middleware, an exception handler, a database router and app configs for the
settings of the host projects.
"""

from contextlib import suppress

from django.core.exceptions import RequestDataTooBig
from django.utils.decorators import async_only_middleware

from bookmarks.apps import BookmarksConfig
from usergroups.apps import UserGroupsConfig


def read_body(get_response):
    """Read the body before the view, as middleware for logging or signatures
    does.
    """

    def middleware(request):
        with suppress(RequestDataTooBig):
            request.body  # noqa: B018
        return get_response(request)

    return middleware


@async_only_middleware
def add_header(get_response):
    """Add a header, as asynchronous middleware of a host under ASGI may do."""

    async def middleware(request):
        response = await get_response(request)
        response["X-Host"] = "async"
        return response

    return middleware


def exception_handler(exception, context):
    raise AssertionError(
        "The views of the apps must not call the host's exception handler."
    )


class ReplicaRouter:
    """Read the models of the apps from the replica.

    Other models, such as sessions, stay in the default database.
    """

    def db_for_read(self, model, **hints):
        if model._meta.app_label in ("usergroups", "bookmarks"):
            return "replica"
        return "default"

    def db_for_write(self, model, **hints):
        return "default"

    def allow_relation(self, obj1, obj2, **hints):
        return None


class TeamsConfig(UserGroupsConfig):
    label = "teams"


class LinksConfig(BookmarksConfig):
    label = "links"
