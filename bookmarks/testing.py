"""Factories for tests, like those of ``usergroups.testing``."""

from factory.declarations import Sequence, SubFactory
from factory.django import DjangoModelFactory

from bookmarks.models import AccessToken, Bookmark, Collection
from usergroups.testing import TokenFactory, UserGroupFactory


class AccessTokenFactory(TokenFactory):
    class Meta:
        model = AccessToken

    user_group = SubFactory(UserGroupFactory)


class CollectionFactory(DjangoModelFactory[Collection]):
    class Meta:
        model = Collection

    user_group = SubFactory(UserGroupFactory)
    name = Sequence(lambda n: f"Collection {n}")


class BookmarkFactory(DjangoModelFactory[Bookmark]):
    class Meta:
        model = Bookmark

    user_group = SubFactory(UserGroupFactory)
    url = Sequence(lambda n: f"https://example.com/{n}")
