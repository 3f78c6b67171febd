"""The example of the section Signals in docs/plug-in.md.

tests/test_docs.py compares it with the document.
"""

import pytest
from django.core.cache import cache
from django.dispatch import receiver

from bookmarks.models import Bookmark
from usergroups.signals import created, deleted


@pytest.mark.django_db
@pytest.mark.database_independent
def test_the_example_forgets_the_count_when_a_bookmark_is_created(
    user_group, django_capture_on_commit_callbacks
):
    @receiver([created, deleted], sender=Bookmark)
    def forget_count(instances, **kwargs):
        cache.delete_many(
            {f"bookmarks-{bookmark.user_group_id}" for bookmark in instances}
        )

    cache.set(f"bookmarks-{user_group.pk}", 0)

    with django_capture_on_commit_callbacks(execute=True):
        Bookmark.objects.add(user_group=user_group, url="https://example.com/")

    assert cache.get(f"bookmarks-{user_group.pk}") is None
    for signal in (created, deleted):
        assert signal.disconnect(forget_count, Bookmark)
