"""The factories of the app, and one of records of deletions."""

import factory
from factory.django import DjangoModelFactory
from uuid_utils.compat import uuid7

from bookmarks.deleted_bookmarks import Deletion
from bookmarks.testing import AccessTokenFactory, BookmarkFactory, CollectionFactory
from usergroups.testing import UserGroupFactory

__all__ = [
    "AccessTokenFactory",
    "BookmarkFactory",
    "CollectionFactory",
    "DeletionFactory",
]


class DeletionFactory(DjangoModelFactory):
    class Meta:
        model = Deletion

    user_group = factory.SubFactory(UserGroupFactory)
    object_type = "bookmark"
    object_id = factory.LazyFunction(uuid7)
    id = factory.SelfAttribute("object_id")
