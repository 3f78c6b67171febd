from datetime import timedelta
from secrets import token_bytes
from typing import Any

import factory
from django.utils import timezone

from usergroups.models import ApiToken, Team, UserGroup
from usergroups.tokens.models import Token


def hours_ago(hours: int) -> Any:
    return factory.LazyFunction(lambda: timezone.now() - timedelta(hours=hours))


class TokenFactory(factory.django.DjangoModelFactory):
    """Issue a token.

    The instance has its secret as ``secret``, which the model does not store.
    """

    class Meta:
        abstract = True

    class Params:
        revoked = factory.Trait(revoked_at=hours_ago(1))
        expired = factory.Trait(expires_at=hours_ago(1))
        rotated = factory.Trait(rotated_at=hours_ago(1))
        expiring = factory.Trait(expires_at=hours_ago(-24))  # in a day
        # The admin reports tokens not used for 90 days.
        unused = factory.Trait(created_at=hours_ago(91 * 24))
        # so that calls do not write the last use
        recently_used = factory.Trait(last_used_at=hours_ago(0))

    @classmethod
    def _create(cls, model_class, **fields):
        token, token.secret = model_class.objects.issue(**fields)
        return token


def store_tokens(model: type[Token], number: int, **fields: Any) -> None:
    """Store many tokens with one statement.

    Nobody knows their secrets.
    """
    tokens = [model(digest=token_bytes(32), hint="", **fields) for _ in range(number)]
    # PostgreSQL takes at most 65,535 parameters.
    model.objects.bulk_create(tokens, batch_size=1000)


class TeamFactory(factory.django.DjangoModelFactory):
    class Meta:
        model = Team

    name = factory.Sequence(lambda n: f"Team {n}")


class ApiTokenFactory(TokenFactory):
    class Meta:
        model = ApiToken

    team = factory.SubFactory(TeamFactory)


class UserGroupFactory(factory.django.DjangoModelFactory):
    class Meta:
        model = UserGroup

    team = factory.SubFactory(TeamFactory)
    provided_id = factory.Sequence(lambda n: f"group_{n}")
    name = factory.Sequence(lambda n: f"Group {n}")
