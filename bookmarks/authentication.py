"""Authentication of the bookmark operations: ``Authorization: Bearer
<ACCESS_TOKEN>``.
"""

from usergroups.tokens.authentication import BearerTokenAuthentication

from .models import AccessToken


class AccessTokenAuthentication(BearerTokenAuthentication):
    model = AccessToken
