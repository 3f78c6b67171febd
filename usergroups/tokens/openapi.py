"""Describe the authentication by tokens, and the operations on the token of
the request, in the OpenAPI document.

Importing this module registers the authentication schemes.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

from drf_spectacular.extensions import OpenApiAuthenticationExtension
from drf_spectacular.plumbing import build_bearer_security_scheme_object

from usergroups.api.openapi import (
    Handler,
    component_name,
    operation,
    success_response,
)

from .rotation_errors import AlreadyRotated, TooManyTokensToRotate


class TokenScheme(OpenApiAuthenticationExtension):  # type: ignore[no-untyped-call]
    """Describes each subclass of TokenAuthentication.

    Clients and generators know the http scheme ``bearer``. They do not know
    ``Token``, so the client provides the whole value of the header.
    """

    target_class = "usergroups.tokens.authentication.TokenAuthentication"
    match_subclasses = True

    @property
    def name(self) -> str:  # type: ignore[override]
        return component_name(type(self.target)).removesuffix("Authentication")

    def get_security_definition(self, auto_schema: Any) -> dict[str, str]:
        keyword = self.target.keyword
        description = f"`Authorization: {keyword} {self.target.model.prefix}_...`"
        if keyword != "Bearer":
            description = (
                f"Send the word `{keyword}`, a space and the token: {description}"
            )
        return {
            **build_bearer_security_scheme_object("Authorization", keyword),
            "description": description,
        }


token_operation = partial(operation, tags=["Tokens"])

TOKEN: dict[str, Any] = {
    "id": "9b1d8c0f5f0a4e6d8a7b6c5d4e3f2a1b0c9d8e7f6a5b4c3d2e1f0a9b8c7d6e5f",
    "name": "Browser extension",
    "hint": "bma_4Hk6",
    "read_only": False,
    "expires_at": "2026-03-02T09:26:53.589793Z",
    "created_at": "2026-01-31T09:26:53.589793Z",
    "rotated_at": None,
    "predecessor": None,
    "successor": None,
}

PUBLIC_ID = "3c0a5d1e9f8b7a6c5d4e3f2a1b0c9d8e7f6a5b4c3d2e1f0a9b8c7d6e5f4a3b2c"
"""The id of a successor."""

DESCRIPTION = (
    "Describes the token that the request is sent with, without its secret. A "
    "read-only token is sufficient."
)


def describe_rotation(
    operation_id: str, summary: str, secret: str
) -> Callable[[Handler], Handler]:
    """Describe the rotation of a token, with the secret of its successor as an
    example.
    """
    issued = {"hint": secret[:8], "predecessor": TOKEN["id"], "secret": secret}
    successor = {**TOKEN, "id": PUBLIC_ID, **issued}
    return token_operation(
        operation_id,
        summary=summary,
        description=(
            "Issues a successor of the token that the request is sent with, which must "
            "be able to write. It has the same name, owner, rights and lifetime. Only "
            "this response has its `secret`. The old token expires after `grace` "
            "seconds, by default at once. While it works and its successor was never "
            "used, a second rotation revokes this successor and issues another, so "
            "that a lost response can be repaired; later it is refused with "
            "`already_rotated`. An owner has at "
            "most 1,000 active tokens. At this number, tokens can be rotated without "
            "`grace` only."
        ),
        body={"grace": 3600},
        responses={201: success_response("The token was rotated.", token=successor)},
        errors=[AlreadyRotated(), TooManyTokensToRotate()],
    )
