"""The processes of the service count together through CACHE_URL."""

import pytest
import redis

from tests.bookmarks_service.service import Service, empty_database

CACHE_URL = "redis://127.0.0.1:6379/9"


def test_all_processes_share_the_rate_of_a_token(tmp_path):
    try:
        redis.Redis.from_url(CACHE_URL).ping()
    except redis.ConnectionError:
        pytest.skip("there is no Redis server at 127.0.0.1")
    settings = {"CACHE_URL": CACHE_URL, "API_TOKEN_RATE": "10/day", "WEB_CONCURRENCY": "4"}

    with empty_database(tmp_path) as database_url, Service(tmp_path, database_url, **settings) as service:
        statuses = [service.create_bookmark(url="https://example.com/").status_code for _ in range(15)]

    assert sorted(statuses) == [200] * 9 + [201] + [429] * 5
