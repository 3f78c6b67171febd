"""System checks of the settings and the databases."""

import math
import re
from collections.abc import Sequence
from types import ModuleType
from typing import Any

from django.apps import apps
from django.conf import settings
from django.core import checks
from django.core.cache import caches
from django.core.cache.backends.dummy import DummyCache
from django.core.cache.backends.locmem import LocMemCache
from django.core.checks import CheckMessage, Error, Tags, register
from django.db import connections, router
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.models import Model

from .api import conf
from .api.throttling import CACHE_ALIAS, cache_alias
from .db.models import WritingModel

DJANGO_MAX_ENTRIES = 300
"""Django's default for the option MAX_ENTRIES of a cache."""

MIN_CACHE_ENTRIES = 10_000
"""The least size of a cache in memory: each token and address takes an entry."""


@register
def check_settings(**kwargs: object) -> list[CheckMessage]:
    """Return an error for each invalid setting, and a warning if no call can
    be answered.
    """
    errors: list[CheckMessage] = [
        *require_integer(
            "USERGROUPS_MAX_BODY_SIZE", conf.max_body_size(), 1, "usergroups.E001"
        ),
        *require_integer(
            "USERGROUPS_TRUSTED_PROXIES", conf.trusted_proxies(), 0, "usergroups.E004"
        ),
        *require_integer(
            "USERGROUPS_CALL_TIME_LIMIT", conf.call_time_limit(), 1, "usergroups.E007"
        ),
        *require_integer(
            "USERGROUPS_DELETION_RETENTION_DAYS",
            conf.deletion_retention_days(),
            1,
            "usergroups.E008",
            maximum=conf.MAX_RETENTION_DAYS,
        ),
        *_require_rate("USERGROUPS_CALL_RATE", conf.call_rate()),
        *_require_rate("USERGROUPS_FAILURE_RATE", conf.failure_rate()),
    ]
    if not settings.USE_TZ:
        text = "USE_TZ is off. Calls of the apps fail."
        hint = "Set USE_TZ = True. The apps store and compare times in UTC."
        errors.append(checks.Warning(text, hint, id="usergroups.W002"))
    return errors


@register(Tags.caches, deploy=True)
def check_cache(**kwargs: object) -> list[CheckMessage]:
    """Return a warning if the cache forgets the counts of the rate limits."""
    if conf.call_rate() is None and conf.failure_rate() is None:
        return []
    alias = cache_alias()
    cache = caches[alias]
    options: Any = settings.CACHES[alias].get("OPTIONS", {})
    max_entries = options.get("MAX_ENTRIES", DJANGO_MAX_ENTRIES)
    # A cache with few entries drops counts before their window ends.
    if isinstance(cache, DummyCache):
        reason = "stores nothing"
    elif isinstance(cache, LocMemCache) and max_entries < MIN_CACHE_ENTRIES:
        reason = f"keeps only {max_entries:,} entries"
    else:
        return []
    text = f"The cache {alias!r} {reason}, so that rate limits do not hold."
    hint = (
        f"Add a cache named {CACHE_ALIAS!r} to CACHES: a server such as Redis, "
        f"or LocMemCache with MAX_ENTRIES of at least {MIN_CACHE_ENTRIES:,}."
    )
    return [checks.Warning(text, hint, id="usergroups.W001")]


def require_integer(
    name: str,
    value: object,
    minimum: int,
    error_id: str,
    maximum: float = math.inf,
) -> list[CheckMessage]:
    """Return an error if the value of a setting is not an integer from
    ``minimum`` to ``maximum``.
    """
    # In Python, True and False are integers.
    is_integer = isinstance(value, int) and not isinstance(value, bool)
    if is_integer and minimum <= value <= maximum:  # type: ignore[operator]
        return []
    text = f"{name} is not an integer from {minimum}"
    if maximum < math.inf:
        text += f" to {maximum}"
    hint = "Correct the setting, or remove it to use the default."
    return [Error(f"{text}.", hint, id=error_id)]


def _require_rate(name: str, value: object) -> list[CheckMessage]:
    """Return an error if the value of a setting is neither a rate nor None."""
    if value is None or re.fullmatch(conf.RATE, str(value)):
        return []
    hint = (
        'Set it to calls per sec, min, hour or day, such as "60000/min", or to None '
        "for no limit."
    )
    return [Error(f"{name} is not a valid rate.", hint, id="usergroups.E003")]


@register
def check_databases(
    databases: Sequence[str] | None = None, **kwargs: object
) -> list[CheckMessage]:
    """Return an error for each unsupported database that the apps' models use
    or may be migrated to.

    On such a database, migrations would succeed, but constraints would be
    missing, or text would compare differently.
    """
    aliases = set(filter(_may_be_migrated, databases or ()))
    for model in _models():
        aliases |= {router.db_for_read(model), router.db_for_write(model)}
    hint = (
        "Use PostgreSQL with psycopg 3, or SQLite 3.35 or newer, for the apps "
        "usergroups and bookmarks."
    )
    return [
        Error(f"The database {alias!r} is not supported.", hint, id="usergroups.E005")
        for alias in sorted(aliases)
        if not _is_supported(connections[alias])
    ]


@register(Tags.database)
def check_encodings(
    databases: Sequence[str] | None = None, **kwargs: object
) -> list[CheckMessage]:
    """Return an error for each PostgreSQL database of the apps that is not in
    UTF-8.

    Migrations would succeed on it. With SQL_ASCII, PostgreSQL would count
    bytes instead of characters, so that names of 255 characters would not fit.

    This connects to the databases, so Django runs it only with ``check
    --database`` and ``migrate``.
    """
    hint = (
        "Create another one with `createdb --encoding=UTF8 --template=template0`, "
        "and move the data with pg_dump and pg_restore."
    )
    return [
        Error(
            f"The encoding of the database {alias!r} is not UTF8.",
            hint,
            id="usergroups.E006",
        )
        for alias in filter(_may_be_migrated, databases or ())
        if _encoding(connections[alias]) != "UTF8"
    ]


def _models() -> list[type[Model]]:
    """Return the models of usergroups and bookmarks, and those of other apps
    with the same base class.
    """
    return [model for model in apps.get_models() if issubclass(model, WritingModel)]


def _may_be_migrated(alias: str) -> bool:
    """Return whether a router allows tables of the apps on this database."""
    return any(router.allow_migrate_model(alias, model) for model in _models())


def _encoding(connection: BaseDatabaseWrapper) -> str:
    """Return PostgreSQL's name for the encoding of the database."""
    # The check is about databases that count bytes instead of characters.
    # SQLite always counts characters. Other databases are not supported.
    if connection.vendor != "postgresql":
        return "UTF8"
    with connection.cursor() as cursor:
        cursor.execute("SHOW server_encoding")
        return str(cursor.fetchone()[0])


def _is_supported(connection: BaseDatabaseWrapper) -> bool:
    # Older versions of SQLite have no RETURNING, which updates use. Django
    # itself refuses versions of PostgreSQL that are too old.
    if connection.vendor == "sqlite":
        return connection.get_database_version() >= (3, 35)
    # psycopg2 returns binary values and composes statements differently.
    driver: ModuleType = connection.Database  # type: ignore[attr-defined]
    return connection.vendor == "postgresql" and driver.__name__ == "psycopg"
