from django.dispatch import receiver
from simple_history import register

from bookmarks.models import Bookmark
from usergroups.signals import created, updated

register(Bookmark, app="tests.host.notes")
# The receiver also hears of what save() writes.
Bookmark.skip_history_when_saving = True


@receiver([created, updated], sender=Bookmark)
def keep_history(signal, instances, **kwargs):
    Bookmark.history.bulk_history_create(instances, update=signal is updated)
