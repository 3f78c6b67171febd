"""The authentication backend of sessions that single sign-on has started."""

from typing import Any

from django.contrib.auth.backends import ModelBackend


class SingleSignOnBackend(ModelBackend):
    """Load users and their permissions. The callback view logs them in, so no credentials are accepted here."""

    def authenticate(self, request: Any, username: Any = None, password: Any = None, **kwargs: Any) -> None:
        return None
