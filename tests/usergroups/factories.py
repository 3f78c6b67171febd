"""The factories of the app, and one of many tokens."""

from secrets import token_bytes
from typing import Any

from usergroups.testing import (
    ApiTokenFactory,
    TeamFactory,
    TokenFactory,
    UserGroupFactory,
)
from usergroups.tokens.models import Token

__all__ = [
    "ApiTokenFactory",
    "TeamFactory",
    "TokenFactory",
    "UserGroupFactory",
    "store_tokens",
]


def store_tokens(model: type[Token], number: int, **fields: Any) -> None:
    """Store many tokens with one statement.

    Nobody knows their secrets.
    """
    tokens = [model(digest=token_bytes(32), hint="", **fields) for _ in range(number)]
    # PostgreSQL takes at most 65,535 parameters.
    model.objects.bulk_create(tokens, batch_size=1000)
