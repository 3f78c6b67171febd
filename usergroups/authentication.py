"""Authentication by ``Authorization: Token <API_TOKEN>``."""

from .models import ApiToken
from .tokens.authentication import TokenAuthentication


class ApiTokenAuthentication(TokenAuthentication):
    """Authenticates a team."""

    model = ApiToken
    keyword = "Token"
