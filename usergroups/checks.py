"""System checks of the settings that the apps read."""

from typing import Any

from django.conf import settings
from django.core.checks import CheckMessage, Error, register

from .contract import conf


@register
def check_settings(**kwargs: Any) -> list[CheckMessage]:
    errors: list[CheckMessage] = []
    size = conf.max_body_size()
    if not isinstance(size, int) or isinstance(size, bool) or size <= 0:
        errors.append(
            Error(
                "API_MAX_BODY_SIZE is not a positive integer.",
                hint="Set it to a number of bytes, or remove it for 1 MiB.",
                id="usergroups.E001",
            )
        )
    if not settings.USE_TZ:
        errors.append(
            Error(
                "USE_TZ is off.",
                hint="Set USE_TZ = True: the times in answers and of tokens are points in time, not local times.",
                id="usergroups.E002",
            )
        )
    return errors
