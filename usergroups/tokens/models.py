"""The abstract model of a token that authenticates its bearer."""

from contextlib import suppress
from copy import copy
from datetime import timedelta
from typing import Any, ClassVar

from django.db import models, router, transaction
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from usergroups.signals import announce, revoked, rotated
from usergroups.transactions import WritingModel

from . import last_use, secret_format
from .querysets import EXPIRY_NOTICE, TokenQuerySet, TokenState

MAX_TOKEN_NAME_LENGTH = 255


class Token(WritingModel):
    """A secret that authenticates its owner until it expires or is revoked. Only its digest is stored."""

    prefix: ClassVar[str]
    """The prefix of the secrets of this model."""
    owner_not_deleted: ClassVar[dict[str, None]] = {}
    """A filter for tokens whose owner, and the owner of that owner, are not being deleted."""
    owner_field: ClassVar[str]
    """The name of the foreign key to the owner."""

    name = models.CharField(
        _("name"), max_length=MAX_TOKEN_NAME_LENGTH, blank=True, help_text=_("What the token is for.")
    )
    digest = models.BinaryField(max_length=32, unique=True, editable=False)
    hint = models.CharField(_("hint"), max_length=16, editable=False, help_text=_("The beginning of the secret."))
    read_only = models.BooleanField(_("read only"), default=False, help_text=_("Whether the token can only read."))
    created_at = models.DateTimeField(_("created"), default=timezone.now, editable=False)
    expires_at = models.DateTimeField(
        _("expires"), null=True, blank=True, help_text=_("Leave empty if it never expires.")
    )
    revoked_at = models.DateTimeField(_("revoked"), null=True, blank=True, editable=False)
    rotated_at = models.DateTimeField(_("rotated"), null=True, blank=True, editable=False)
    last_used_at = models.DateTimeField(
        _("last used"), null=True, blank=True, editable=False, help_text=_("Accurate to one minute.")
    )

    objects = TokenQuerySet.as_manager()

    class Meta:
        abstract = True

    def __str__(self) -> str:
        return f"{self.hint}… {self.name}".rstrip()

    @property
    def public_id(self) -> str:
        """The id in the API: the digest in hexadecimal, which can be computed from a leaked secret."""
        return bytes(self.digest).hex()

    @property
    def owner(self) -> models.Model:
        owner: models.Model = getattr(self, self.owner_field)
        return owner

    @property
    def state(self) -> TokenState:
        if self.revoked_at is not None:
            return TokenState.REVOKED
        left = None if self.expires_at is None else self.expires_at - timezone.now()
        if left is None or left > EXPIRY_NOTICE:
            return TokenState.ACTIVE
        return TokenState.EXPIRING if left > timedelta() else TokenState.EXPIRED

    @property
    def is_active(self) -> bool:
        return self.state in (TokenState.ACTIVE, TokenState.EXPIRING)

    def assign_secret(self) -> str:
        """Set the digest and hint of a new secret, without saving the token, and return the secret."""
        secret = secret_format.generate(self.prefix)
        self.digest, self.hint = secret_format.digest(secret), secret_format.hint(secret)
        return secret

    def revoke(self) -> None:
        """Revoke the token permanently. A second revocation does not change the time of the first."""
        tokens = type(self).objects.using(router.db_for_write(type(self), instance=self))
        is_first = tokens.filter(pk=self.pk, revoked_at=None).update(revoked_at=timezone.now())
        self.refresh_from_db(using=tokens.db, fields=["revoked_at"])
        if is_first:
            announce(revoked, [self], tokens.db)

    def rotate(self, grace: timedelta) -> "tuple[Token, str]":
        """Issue a successor with the same name, owner and permissions, and return it with its secret.

        This token expires after ``grace``, if not earlier. The successor has the same lifetime as this token had when
        it was issued. Raises DoesNotExist if this token is not active or already has a successor.
        """
        tokens = type(self).objects.using(router.db_for_write(type(self), instance=self))
        with transaction.atomic(using=tokens.db):
            token = tokens.rotatable().select_for_update().get(pk=self.pk)
            now = timezone.now()
            expires_at = token.expires_at
            with suppress(OverflowError):  # then keep the old time, thousands of years from now
                expires_at = expires_at and now + (expires_at - token.created_at)
            inherited = {field.attname: getattr(token, field.attname) for field in self.inherited_fields()}
            successor, secret = tokens.issue(**inherited, expires_at=expires_at)
            token.rotated_at, token.expires_at = now, min(now + grace, token.expires_at or now + grace)
            tokens.filter(pk=token.pk).update(rotated_at=token.rotated_at, expires_at=token.expires_at)
            announce(rotated, [token], tokens.db, successors=[copy(successor)])
        return successor, secret

    @classmethod
    def inherited_fields(cls) -> "list[models.Field[Any, Any]]":
        """Return the fields that a successor inherits: name, owner and permissions."""
        own = {"digest", "hint", "created_at", "expires_at", "revoked_at", "rotated_at", "last_used_at"}
        return [field for field in cls._meta.concrete_fields if not field.primary_key and field.name not in own]

    def mark_used(self) -> None:
        """Save the time of last use, at most once a minute, without waiting for a lock or raising database errors."""
        now = timezone.now()
        if self.last_used_at is None or self.last_used_at <= now - last_use.PRECISION:
            last_use.write(self, now)
