"""With CACHE_URL, all processes share the rate limits."""

import pytest
from django.core.cache import cache

from tests.bookmarks_service.hosts import REDIS, redis_server
from tests.bookmarks_service.service import Service, empty_database
from usergroups.tokens.throttling import FailedAuthenticationThrottle

pytestmark = pytest.mark.skipif(REDIS is None, reason="Redis is not installed")


def test_all_processes_share_the_rate_of_a_token(tmp_path):
    settings = {"USERGROUPS_CALL_RATE": "10/day", "GRANIAN_WORKERS": "2"}

    with (
        redis_server(tmp_path) as cache_url,
        empty_database(tmp_path) as database_url,
        Service(tmp_path, database_url, CACHE_URL=cache_url, **settings) as service,
    ):
        statuses = [service.create_bookmark(url="https://example.com/").status_code for _ in range(15)]

    assert sorted(statuses) == [200] * 9 + [201] + [429] * 5


def test_each_call_takes_two_commands_of_redis(tmp_path, settings):
    """Django's ``incr`` asks first whether the key exists."""
    with redis_server(tmp_path) as cache_url:
        settings.CACHES = {"default": {"BACKEND": "django.core.cache.backends.redis.RedisCache", "LOCATION": cache_url}}
        throttle = FailedAuthenticationThrottle()

        counts = [throttle.count("a") for _ in range(10)]

        commands = cache._cache.get_client().info("commandstats")
        cache.close()
    used = {name: stats["calls"] for name, stats in commands.items() if name != "cmdstat_hello"}
    assert counts == [*range(1, 11)]
    assert used == {"cmdstat_exists": 10, "cmdstat_incrby": 9, "cmdstat_set": 1}
