"""The abstract model of a token that authenticates its bearer."""

from contextlib import suppress
from datetime import datetime, timedelta
from typing import Any, ClassVar

from django.db import models, router
from django.http import HttpRequest
from django.utils import timezone
from django.utils.translation import gettext_lazy as _
from rest_framework.request import Request

from usergroups.signals import announce, revoked
from usergroups.transactions import WritingModel

from . import last_use, secret_format
from .querysets import EXPIRY_NOTICE, TokenQuerySet, TokenState

MAX_TOKEN_NAME_LENGTH = 255

OWN_FIELDS = {"digest", "hint", "created_at", "expires_at", "revoked_at", "rotated_at", "predecessor"} | {
    f"last_used_{name}" for name in ("at", "address", "agent")
}
"""The fields that a successor does not inherit."""


class Token(WritingModel):
    """A secret that authenticates its owner until it expires or is revoked. Only its digest is stored."""

    prefix: ClassVar[str]
    """The prefix of the secrets of this model."""
    owner_field: ClassVar[str]
    """The name of the foreign key to the owner."""
    owner_deferred: ClassVar[tuple[str, ...]] = ()
    """Large fields of the owner, which authentication does not read unless they are asked for."""

    digest = models.BinaryField(max_length=32, unique=True, editable=False)
    hint = models.CharField(_("hint"), max_length=16, editable=False, help_text=_("The beginning of the secret."))
    created_at = models.DateTimeField(_("created"), default=timezone.now, editable=False)
    name = models.CharField(
        _("name"), max_length=MAX_TOKEN_NAME_LENGTH, blank=True, help_text=_("What the token is for.")
    )
    read_only = models.BooleanField(_("read only"), default=False, help_text=_("Whether the token can only read."))
    expires_at = models.DateTimeField(
        _("expires"), null=True, blank=True, help_text=_("Leave empty if it never expires.")
    )
    revoked_at = models.DateTimeField(_("revoked"), null=True, blank=True, editable=False)
    rotated_at = models.DateTimeField(_("rotated"), null=True, blank=True, editable=False)
    last_used_at = models.DateTimeField(
        _("last used"), null=True, blank=True, editable=False, help_text=_("Accurate to one minute.")
    )
    last_used_address = models.CharField(
        _("last used from"),
        max_length=last_use.MAX_ADDRESS_LENGTH,
        default="",
        editable=False,
        help_text=_("The client's address. For IPv6, the first address of its /64 network."),
    )
    last_used_agent = models.CharField(
        _("last used by"),
        max_length=last_use.MAX_AGENT_LENGTH,
        default="",
        editable=False,
        help_text=_("What the client calls itself: its User-Agent header."),
    )
    # Only for display. A foreign key in the database, or SET_NULL, would make each deletion of a token look for others.
    predecessor = models.ForeignKey(
        "self",
        models.DO_NOTHING,
        null=True,
        related_name="+",
        db_constraint=False,
        editable=False,
        verbose_name=_("predecessor"),
    )
    predecessor_id: Any

    objects = TokenQuerySet.as_manager()

    class Meta:
        abstract = True

    def __str__(self) -> str:
        return f"{self.hint}… {self.name}".rstrip()

    @property
    def public_id(self) -> str:
        """The id in the API: the digest in hexadecimal, which can be computed from a leaked secret."""
        return bytes(self.digest).hex()

    def assign_secret(self) -> str:
        """Set the digest and hint of a new secret, without saving the token, and return the secret."""
        secret = secret_format.generate(self.prefix)
        self.digest, self.hint = secret_format.digest(secret), secret_format.hint(secret)
        return secret

    @property
    def owner(self) -> models.Model:
        owner: models.Model = getattr(self, self.owner_field)
        return owner

    @property
    def state(self) -> TokenState:
        if self.revoked_at is not None:
            return TokenState.REVOKED
        left = None if self.expires_at is None else self.expires_at - timezone.now()
        if left is not None and left <= timedelta():
            return TokenState.EXPIRED
        if self.rotated_at is not None:
            return TokenState.ROTATED
        return TokenState.ACTIVE if left is None or left > EXPIRY_NOTICE else TokenState.EXPIRING

    @property
    def is_active(self) -> bool:
        return self.state not in (TokenState.EXPIRED, TokenState.REVOKED)

    def revoke(self) -> None:
        """Revoke the token permanently. A second revocation does not change the time of the first."""
        tokens = self._tokens
        is_first = tokens.filter(pk=self.pk, revoked_at=None).update(revoked_at=timezone.now())
        self.refresh_from_db(using=tokens.db, fields=["revoked_at"])
        if is_first:
            announce(revoked, [self], tokens.db)

    def rotate(self, grace: timedelta) -> "tuple[Token, str]":
        """Issue a successor as the method of the queryset does, and return it with its secret.

        Raises DoesNotExist if this token is not active or already has a successor.
        """
        issued = self._tokens.filter(pk=self.pk).rotate(grace)
        if not issued:
            raise self.DoesNotExist
        [(_token, successor, secret)] = issued
        return successor, secret

    def new_successor(self, now: datetime) -> "tuple[Token, str]":
        """Return a token with the same name, owner and permissions, which is not saved, and its secret."""
        expires_at = self.expires_at
        with suppress(OverflowError):  # then keep the old time, thousands of years from now
            expires_at = expires_at and now + (expires_at - self.created_at)
        successor: Any = type(self)(predecessor_id=self.pk, created_at=now, expires_at=expires_at)  # type: ignore[misc]
        for field in self.inherited_fields():
            # The owner itself if it is loaded, so that it need not be read again.
            name = field.name if field.is_relation and field.name in self._state.fields_cache else field.attname
            setattr(successor, name, getattr(self, name))
        return successor, successor.assign_secret()

    @classmethod
    def inherited_fields(cls) -> "list[models.Field[Any, Any]]":
        """Return the fields that a successor inherits: name, owner and permissions."""
        return [field for field in cls._meta.concrete_fields if not field.primary_key and field.name not in OWN_FIELDS]

    def get_predecessor(self) -> "Token | None":
        """Return the token that this one succeeds, or None if there is none or it was deleted."""
        return self._tokens.filter(pk=self.predecessor_id).first() if self.predecessor_id else None

    def get_successor(self) -> "Token | None":
        """Return the token that succeeds this one, or None if there is none or it was deleted."""
        return self._tokens.filter(predecessor=self.pk).first() if self.rotated_at else None

    @property
    def _tokens(self) -> Any:
        return type(self).objects.using(router.db_for_write(type(self), instance=self))

    def mark_used(self, request: HttpRequest | Request | None = None) -> None:
        """Save the time and client of the last use, at most once a minute.

        This does not wait for a lock or raise database errors.
        """
        now = timezone.now()
        if self.last_used_at is None or self.last_used_at <= now - last_use.PRECISION:
            last_use.write(self, now, request)
