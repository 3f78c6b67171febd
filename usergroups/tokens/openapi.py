"""Describe the authentication by tokens, and the operations on the token of
the request, in the OpenAPI document.

Importing this module registers the authentication schemes.
"""

from functools import partial

from drf_spectacular.extensions import OpenApiAuthenticationExtension
from drf_spectacular.plumbing import build_bearer_security_scheme_object

from usergroups.api.openapi import component_name, operation

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

    def get_security_definition(self, auto_schema: object) -> dict[str, str]:
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


DESCRIPTION = (
    "Describes the token that the request is sent with, without its secret. A "
    "read-only token is sufficient."
)

token_operation = partial(operation, tags=["Tokens"])

token_rotation = partial(
    token_operation,
    description=(
        "Issues a successor of the token that the request is sent with, which must be "
        "able to write. It has the same name, owner, rights and lifetime. Only this "
        "response has its `secret`. The old token expires after `grace` seconds, by "
        "default at once. While it works and its successor was never used, a second "
        "rotation revokes this successor and issues another, so that a lost response "
        "can be repaired; later it is refused with `already_rotated`. An owner has at "
        "most 1,000 active tokens. At this number, tokens can be rotated without "
        "`grace` only."
    ),
    statuses=[201],
    errors=[AlreadyRotated(), TooManyTokensToRotate()],
)
