"""The authentication schemes in the OpenAPI document. Importing this module registers them."""

from typing import Any

from drf_spectacular.extensions import OpenApiAuthenticationExtension


class TokenScheme(OpenApiAuthenticationExtension):  # type: ignore[no-untyped-call]
    """Describes each subclass of TokenAuthentication as an HTTP scheme."""

    target_class = "usergroups.tokens.authentication.TokenAuthentication"
    match_subclasses = True

    @property
    def name(self) -> str:  # type: ignore[override]
        model = self.target.model
        return str(model.__name__)

    def get_security_definition(self, auto_schema: Any) -> dict[str, str]:
        # Client generators only recognize "bearer" in lower case.
        scheme = "bearer" if self.target.keyword == "Bearer" else self.target.keyword
        return {
            "type": "http",
            "scheme": scheme,
            "description": f"`Authorization: {self.target.keyword} {self.target.model.prefix}_...`",
        }
