"""The abstract model of a token that authenticates its bearer."""

from contextlib import suppress
from copy import copy
from datetime import UTC, timedelta
from typing import Any, ClassVar

from django.db import models, router, transaction
from django.http import HttpRequest
from django.utils import timezone
from django.utils.translation import gettext_lazy as _
from rest_framework.request import Request

from usergroups.signals import announce, revoked, rotated
from usergroups.transactions import WritingModel

from . import last_use, secret_format
from .querysets import EXPIRY_NOTICE, TokenQuerySet, TokenState

MAX_TOKEN_NAME_LENGTH = 255

OWN_FIELDS = {"digest", "hint", "created_at", "expires_at", "revoked_at", "rotated_at", "predecessor"} | {
    f"last_used_{name}" for name in ("at", "address", "agent")
}
"""The fields that a successor does not inherit."""


class Token(WritingModel):
    """A secret that authenticates its owner until it expires or is revoked. Only its digest is stored.

    A secret can be withheld until the page that shows it is loaded, because no secret may be stored until then. The
    token then has the hint of its future secret, and a digest that only its own fields determine.
    """

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

    def assign_secret(self, hint: str = "") -> str:
        """Set the digest and hint of a new secret, without saving the token, and return the secret."""
        secret = secret_format.generate(self.prefix, hint)
        self.digest, self.hint = secret_format.digest(secret), secret_format.hint(secret)
        return secret

    def withhold_secret(self) -> str:
        """Set the hint of a secret that ``show_withheld()`` generates, without saving the token. Return empty text."""
        self.assign_secret()
        self.digest = self._digest_while_withheld
        return ""

    @property
    def is_withheld(self) -> bool:
        return bytes(self.digest) == self._digest_while_withheld

    @property
    def _digest_while_withheld(self) -> bytes:
        # No secret has this digest, because the text is not a well-formed secret.
        return secret_format.digest(f"{self.hint} {self.created_at.astimezone(UTC).isoformat()}")

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

    def rotate(self, grace: timedelta, *, withheld: bool = False) -> "tuple[Token, str]":
        """Issue a successor with the same name, owner and permissions, and return it with its secret.

        This token expires after ``grace``, if not earlier. The successor has the same lifetime as this token had when
        it was issued. Raises DoesNotExist if this token is not active or already has a successor.
        For ``withheld``, see ``TokenQuerySet.issue()``.
        """
        tokens = self._tokens
        with transaction.atomic(using=tokens.db):
            token = tokens.rotatable().select_for_update().get(pk=self.pk)
            now = timezone.now()
            expires_at = token.expires_at
            with suppress(OverflowError):  # then keep the old time, thousands of years from now
                expires_at = expires_at and now + (expires_at - token.created_at)
            inherited = {field.attname: getattr(token, field.attname) for field in self.inherited_fields()}
            successor, secret = tokens.issue(
                **inherited, expires_at=expires_at, predecessor_id=token.pk, withheld=withheld
            )
            token.rotated_at, token.expires_at = now, min(now + grace, token.expires_at or now + grace)
            tokens.filter(pk=token.pk).update(rotated_at=token.rotated_at, expires_at=token.expires_at)
            announce(rotated, [token], tokens.db, successors=[copy(successor)])
        return successor, secret

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
