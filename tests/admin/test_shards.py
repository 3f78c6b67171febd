"""The pages of the admin on a distributed database."""
# ruff: noqa: F811  # fixtures of another module

import os

import pytest
from django.urls import reverse

from tests.bookmarks.factories import CollectionFactory
from tests.bookmarks.test_shards import bookmarks, shards_of  # noqa: F401
from tests.queries import queries_of


@pytest.fixture
def collection(user_group):
    return CollectionFactory(user_group=user_group)


FANNING_OUT = {"the list": "changelist", "a bookmark": "change", "its deletion": "delete"}


@pytest.mark.skipif("TEST_DISTRIBUTE" not in os.environ, reason="the database is not distributed")
@pytest.mark.parametrize("page", FANNING_OUT.values(), ids=FANNING_OUT)
def test_pages_of_the_admin_read_all_shards(admin_client, bookmarks, page):
    key = [] if page == "changelist" else [bookmarks[0].pk]
    url = reverse(f"admin:bookmarks_bookmark_{page}", args=key)

    statements = [sql for sql in queries_of(admin_client.get, url) if 'FROM "bookmarks_bookmark"' in sql]

    assert any(len(shards_of(sql)) > 1 or shards_of(sql) == {"Task Count: 4"} for sql in statements)
