import factory
from uuid_utils.compat import uuid7

from bookmarks.deletion_log import Deletion
from bookmarks.models import AccessToken, Bookmark, Collection
from tests.usergroups.factories import TokenFactory, UserGroupFactory


class AccessTokenFactory(TokenFactory):
    class Meta:
        model = AccessToken

    user_group = factory.SubFactory(UserGroupFactory)


class CollectionFactory(factory.django.DjangoModelFactory):
    class Meta:
        model = Collection

    user_group = factory.SubFactory(UserGroupFactory)
    name = factory.Sequence(lambda n: f"Collection {n}")


class BookmarkFactory(factory.django.DjangoModelFactory):
    class Meta:
        model = Bookmark

    user_group = factory.SubFactory(UserGroupFactory)
    url = factory.Sequence(lambda n: f"https://example.com/{n}")


class DeletionFactory(factory.django.DjangoModelFactory):
    class Meta:
        model = Deletion

    user_group = factory.SubFactory(UserGroupFactory)
    object_type = "bookmark"
    object_id = factory.LazyFunction(uuid7)
    id = factory.SelfAttribute("object_id")
