"""The receivers of docs/plug-in.md."""

import pytest
from django.core.cache import cache

from bookmarks.models import Bookmark

pytestmark = pytest.mark.django_db


def test_a_new_bookmark_makes_a_count_forgotten(
    user_group, django_capture_on_commit_callbacks
):
    cache.set(f"bookmarks-{user_group.pk}", 0)

    with django_capture_on_commit_callbacks(execute=True):
        Bookmark.objects.add(user_group=user_group, url="https://example.com/")

    assert cache.get(f"bookmarks-{user_group.pk}") is None


@pytest.mark.django_db(transaction=True)
def test_the_history_of_a_bookmark_is_complete(user_group):
    bookmark, _ = Bookmark.objects.add(user_group=user_group, url="https://a/")
    Bookmark.objects.update_by_id(user_group, str(bookmark.pk), title="First")
    bookmark.title = "Second"
    bookmark.save()
    bookmark.delete()

    history = Bookmark.history.order_by("history_id")
    assert [*history.values_list("history_type", "title")] == [
        ("+", ""),
        ("~", "First"),
        ("~", "Second"),
        ("-", "Second"),
    ]
