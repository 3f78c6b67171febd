"""Describe the authentication by tokens in the OpenAPI document.

Importing this module registers the authentication schemes.
"""

from typing import Any

from drf_spectacular.extensions import OpenApiAuthenticationExtension
from drf_spectacular.plumbing import build_bearer_security_scheme_object

from usergroups.api.openapi import component_name


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
