"""Factories and a client for tests, also for those of other projects.

They need factory-boy, which the extra ``testing`` of the package installs.
"""

from datetime import timedelta
from typing import Any

from django.utils import timezone
from factory.declarations import LazyFunction, Sequence, SubFactory, Trait
from factory.django import DjangoModelFactory
from rest_framework.test import APIClient

from usergroups.models import ApiToken, Team, UserGroup
from usergroups.tokens.models import Token


def hours_ago(hours: int) -> object:
    """Declare a field as the time so many hours ago."""
    return LazyFunction(lambda: timezone.now() - timedelta(hours=hours))


class TokenFactory(DjangoModelFactory[Token]):
    """Issue a token.

    The instance has its secret as ``secret``, which the model does not store.
    """

    class Meta:
        abstract = True

    class Params:
        revoked = Trait(revoked_at=hours_ago(1))
        expired = Trait(expires_at=hours_ago(1))
        rotated = Trait(rotated_at=hours_ago(1))
        expiring = Trait(expires_at=hours_ago(-24))  # in a day
        # The admin reports tokens not used for 90 days.
        unused = Trait(created_at=hours_ago(91 * 24))
        # so that calls do not write the last use
        recently_used = Trait(last_used_at=hours_ago(0))

    @classmethod
    def _create(cls, model_class: Any, **fields: object) -> Any:
        token, token.secret = model_class.objects.issue(**fields)
        return token


class TeamFactory(DjangoModelFactory[Team]):
    class Meta:
        model = Team

    name = Sequence(lambda n: f"Team {n}")


class ApiTokenFactory(TokenFactory):
    class Meta:
        model = ApiToken

    team = SubFactory(TeamFactory)


class UserGroupFactory(DjangoModelFactory[UserGroup]):
    class Meta:
        model = UserGroup

    team = SubFactory(TeamFactory)
    provided_id = Sequence(lambda n: f"group_{n}")
    name = Sequence(lambda n: f"Group {n}")


def client_with(token: Any) -> APIClient:
    """Return a client that sends JSON, and the secret of a token from a
    factory.
    """
    scheme = "Token" if isinstance(token, ApiToken) else "Bearer"
    client = APIClient()
    client.default_format = "json"
    client.credentials(HTTP_AUTHORIZATION=f"{scheme} {token.secret}")
    return client
