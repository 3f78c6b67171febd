"""With CACHE_URL, all processes share the rate limits."""

import pytest

from tests.bookmarks_service.hosts import REDIS, redis_server
from tests.bookmarks_service.service import Service, empty_database


@pytest.mark.skipif(REDIS is None, reason="Redis is not installed")
def test_all_processes_share_the_rate_of_a_token(tmp_path):
    settings = {"API_TOKEN_RATE": "10/day", "WEB_CONCURRENCY": "2"}

    with (
        redis_server(tmp_path) as cache_url,
        empty_database(tmp_path) as database_url,
        Service(tmp_path, database_url, CACHE_URL=cache_url, **settings) as service,
    ):
        statuses = [service.create_bookmark(url="https://example.com/").status_code for _ in range(15)]

    assert sorted(statuses) == [200] * 9 + [201] + [429] * 5
