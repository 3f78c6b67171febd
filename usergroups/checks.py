"""System checks of the settings."""

import re
from typing import Any

from django.conf import settings
from django.core.checks import CheckMessage, Error, register

from .contract import conf
from .tokens import conf as tokens_conf


@register
def check_settings(**kwargs: Any) -> list[CheckMessage]:
    errors: list[CheckMessage] = []
    size = conf.max_body_size()
    if not isinstance(size, int) or isinstance(size, bool) or size <= 0:
        errors.append(
            Error(
                "API_MAX_BODY_SIZE is not a positive integer.",
                hint="Set it to a number of bytes, or remove it to use the default of 1 MiB.",
                id="usergroups.E001",
            )
        )
    for name, rate in (("API_TOKEN_RATE", tokens_conf.token_rate()), ("API_FAILURE_RATE", tokens_conf.failure_rate())):
        if not _is_rate(rate):
            errors.append(
                Error(
                    f"{name} is not a valid rate.",
                    hint='Set it to a number of calls per sec, min, hour or day, as "60000/min", or to None.',
                    id="usergroups.E003",
                )
            )
    proxies = tokens_conf.trusted_proxies()
    if not isinstance(proxies, int) or isinstance(proxies, bool) or proxies < 0:
        errors.append(
            Error(
                "API_TRUSTED_PROXIES is not a non-negative integer.",
                hint="Set it to the number of proxies in front that add to X-Forwarded-For.",
                id="usergroups.E004",
            )
        )
    if not settings.USE_TZ:
        errors.append(
            Error(
                "USE_TZ is off.",
                hint="Set USE_TZ = True. The apps store and compare times in UTC.",
                id="usergroups.E002",
            )
        )
    return errors


def _is_rate(rate: Any) -> bool:
    return rate is None or bool(re.fullmatch(r"[1-9]\d*/(s|sec|m|min|h|hour|d|day)", str(rate)))
