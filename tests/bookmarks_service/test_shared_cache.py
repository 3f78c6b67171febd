"""With CACHE_URL, all processes share the rate limits."""

import pytest

from tests.bookmarks_service.service import Service, empty_database
from tests.servers import listens

CACHE_URL = "redis://127.0.0.1:6379/9"


@pytest.mark.skipif(not listens(6379), reason="There is no Redis server at 127.0.0.1.")
def test_all_processes_share_the_rate_of_a_token(tmp_path):
    settings = {"CACHE_URL": CACHE_URL, "API_TOKEN_RATE": "10/day", "WEB_CONCURRENCY": "2"}

    with empty_database(tmp_path) as database_url, Service(tmp_path, database_url, **settings) as service:
        statuses = [service.create_bookmark(url="https://example.com/").status_code for _ in range(15)]

    assert sorted(statuses) == [200] * 9 + [201] + [429] * 5
