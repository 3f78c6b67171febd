"""System checks of the settings that the apps read."""

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
                hint="Set it to a number of bytes, or remove it for 1 MiB.",
                id="usergroups.E001",
            )
        )
    for name, rate in (("API_TOKEN_RATE", tokens_conf.rate()), ("API_FAILURE_RATE", tokens_conf.failure_rate())):
        if not _is_rate(rate):
            errors.append(
                Error(
                    f"{name} is no rate.",
                    hint='Set it to a number of calls per sec, min, hour or day, as "60000/min", or to None for any.',
                    id="usergroups.E003",
                )
            )
    proxies = tokens_conf.trusted_proxies()
    if not isinstance(proxies, int) or isinstance(proxies, bool) or proxies < 0:
        errors.append(
            Error(
                "API_TRUSTED_PROXIES is not a number of proxies.",
                hint="Set it to how many proxies in front add to X-Forwarded-For; 0 if there is none.",
                id="usergroups.E004",
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


def _is_rate(rate: Any) -> bool:
    return rate is None or bool(re.fullmatch(r"[1-9]\d*/(s|sec|m|min|h|hour|d|day)", str(rate)))
