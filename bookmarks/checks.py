"""System checks of the settings."""

from django.core.checks import CheckMessage, register

from usergroups.checks import require_integer

from . import conf


@register
def check_settings(**kwargs: object) -> list[CheckMessage]:
    """Return an error if the maximum size of a file to import is invalid."""
    return require_integer(
        "BOOKMARKS_MAX_IMPORT_SIZE",
        conf.max_import_size(),
        minimum=1,
        error_id="bookmarks.E001",
    )
