"""The receiver of docs/plug-in.md."""

import pytest

from bookmarks.models import Bookmark


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
