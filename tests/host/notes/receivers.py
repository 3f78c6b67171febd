from django.core.cache import cache
from django.dispatch import receiver

from bookmarks.models import Bookmark
from usergroups.signals import created, deleted


@receiver([created, deleted], sender=Bookmark)
def forget_count(instances, **kwargs):
    cache.delete_many({f"bookmarks-{bookmark.user_group_id}" for bookmark in instances})
