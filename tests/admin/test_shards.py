"""The pages of the admin on a distributed database."""
# ruff: noqa: F811  # fixtures of another module

import os

import pytest
from django.urls import reverse

from bookmarks.models import Bookmark, Collection
from tests.admin.actions import act
from tests.bookmarks.factories import CollectionFactory
from tests.bookmarks.test_shards import bookmarks, locks_of_one_shard, shards_of  # noqa: F401
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


@pytest.mark.usefixtures("locks_of_one_shard")
@pytest.mark.parametrize("model", ["collection", "bookmark"])
def test_an_operator_deletes_rows_of_several_groups(admin_client, bookmarks, model):
    rows = {"collection": Collection, "bookmark": Bookmark}[model].objects.all()

    act(admin_client, f"bookmarks_{model}", "delete_selected", *rows)

    assert not rows.all().exists()


@pytest.mark.usefixtures("locks_of_one_shard")
def test_an_operator_saves_and_deletes_one_bookmark(admin_client, bookmarks):
    url = reverse("admin:bookmarks_bookmark_change", args=[bookmarks[0].pk])
    form = {"title": "New", "initial-title": "", "collection": "", "initial-collection": bookmarks[0].collection_id}

    assert admin_client.post(url, form).status_code == 302
    assert Bookmark.objects.get(pk=bookmarks[0].pk).title == "New"
    assert admin_client.post(url.replace("change", "delete"), {"post": "yes"}).status_code == 302
    assert not Bookmark.objects.filter(pk=bookmarks[0].pk).exists()
