"""The authentication schemes in the OpenAPI document. Importing this module registers them."""

from typing import Any

from drf_spectacular.extensions import OpenApiAuthenticationExtension

from usergroups.contract.failures import component_name


class TokenScheme(OpenApiAuthenticationExtension):  # type: ignore[no-untyped-call]
    """Describes each subclass of TokenAuthentication.

    Clients and generators know the http scheme ``bearer``. They do not know ``Token``, so the client
    provides the whole value of the header.
    """

    target_class = "usergroups.tokens.authentication.TokenAuthentication"
    match_subclasses = True

    @property
    def name(self) -> str:  # type: ignore[override]
        model = self.target.model
        return component_name(model.__module__, model.__name__)

    def get_security_definition(self, auto_schema: Any) -> dict[str, str]:
        secret = f"{self.target.model.prefix}_..."
        if self.target.keyword == "Bearer":
            return {"type": "http", "scheme": "bearer", "description": f"`Authorization: Bearer {secret}`"}
        return {
            "type": "apiKey",
            "in": "header",
            "name": "Authorization",
            "description": (
                f"Send `{self.target.header_format}`, the word and the token: "
                f"`Authorization: {self.target.keyword} {secret}`"
            ),
        }
