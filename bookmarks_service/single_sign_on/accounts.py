"""The accounts of operators who use single sign-on."""

from collections.abc import Mapping
from hashlib import sha256
from typing import Any

from django.conf import settings
from django.contrib.auth.models import Group, User
from django.db import transaction

from .failures import DeactivatedAccount, NoRole

SUPERUSERS = "Superusers"
"""The role that makes a superuser. Every other role is the name of a group."""

NAMES = ("name", "preferred_username", "email", "sub")
"""The claims that can name an operator in the history, the most readable one first."""


def update_account(claims: Mapping[str, Any]) -> User:
    """Create or update the account of these claims, with exactly their roles, and return it.

    Raises NoRole or DeactivatedAccount. An account without a role keeps no rights, so that its other sessions lose
    theirs, too.
    """
    username, roles = username_of(claims), roles_in(claims)
    groups = [group for group in Group.objects.all() if group.name in roles]
    has_role = bool(groups) or SUPERUSERS in roles
    if not has_role and not User.objects.filter(username=username).exists():
        raise NoRole
    values = {
        "first_name": text_of(claims, *NAMES),  # the whole name, because not every language has two parts
        "last_name": "",
        "email": text_of(claims, "email"),
        "is_staff": has_role,
        "is_superuser": SUPERUSERS in roles,
    }
    with transaction.atomic():
        user, _ = User.objects.update_or_create(username=username, defaults=values)
        user.groups.set(groups)
        if user.has_usable_password():  # as in a new account
            user.set_unusable_password()
            user.save(update_fields=["password"])
    if not user.is_active:
        raise DeactivatedAccount
    if not has_role:
        raise NoRole
    return user


def username_of(claims: Mapping[str, Any]) -> str:
    """Return the username, which depends on the issuer and the subject only.

    Names and e-mail addresses can change or be given to somebody else, so they do not identify an account.
    """
    identity = sha256("\0".join([claims["iss"], claims["sub"]]).encode())
    return f"sso-{identity.hexdigest()[:32]}"


def roles_in(claims: Mapping[str, Any]) -> set[str]:
    """Return the roles in the claim, which is a list of strings or a single string."""
    value = claims.get(settings.OIDC_ROLES_CLAIM)
    return {each for each in (value if isinstance(value, list) else [value]) if isinstance(each, str)}


def text_of(claims: Mapping[str, Any], *names: str) -> str:
    """Return the first of these claims that contains text, in the length of a column."""
    texts = (claims[name] for name in names if isinstance(claims.get(name), str))
    storable = (text.replace("\0", "").encode(errors="ignore").decode().strip() for text in texts)
    return next(filter(None, storable), "")[:150]
