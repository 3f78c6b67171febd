"""The scheme of the user group operations: ``Authorization: Token <API_TOKEN>``."""

from .models import ApiToken
from .tokens.authentication import TokenAuthentication


class ApiTokenAuthentication(TokenAuthentication):
    model = ApiToken
    keyword = "Token"
