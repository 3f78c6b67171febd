"""The queryset of tokens."""

import re
from copy import copy
from datetime import datetime, timedelta
from functools import cache
from typing import TYPE_CHECKING, Any, TypeVar

from django.db import models, transaction
from django.db.models import Case, F, Q, Value, When
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from usergroups.signals import announce, created, revoked, rotated
from usergroups.statements import Parameter, Select, parameters
from usergroups.transactions import WritingQuerySet

from . import secret_format

if TYPE_CHECKING:
    from .models import Token

EXPIRY_NOTICE = timedelta(days=14)
UNUSED_NOTICE = timedelta(days=90)

T = TypeVar("T", bound="Token")


class TokenState(models.TextChoices):
    ACTIVE = "active", _("Active")
    EXPIRING = "expiring", _("Expiring soon")
    ROTATED = "rotated", _("Rotated")
    EXPIRED = "expired", _("Expired")
    REVOKED = "revoked", _("Revoked")


class TokenQuerySet(WritingQuerySet[T]):
    """Filters, issues and authenticates tokens."""

    def active(self, now: datetime | Parameter | None = None) -> "TokenQuerySet[T]":
        """Filter tokens that are neither revoked nor expired at the time ``now``, which is the present by default."""
        not_expired = Q(expires_at=None) | Q(expires_at__gt=now or timezone.now())
        return self.filter(not_expired, revoked_at=None)

    def in_state(self, state: str) -> "TokenQuerySet[T]":
        """Filter tokens in this TokenState. A token without a successor is active until it is about to expire."""
        now = timezone.now()
        match state:
            case TokenState.REVOKED:
                return self.exclude(revoked_at=None)
            case TokenState.EXPIRED:
                return self.filter(revoked_at=None, expires_at__lte=now)
            case TokenState.ROTATED:
                return self.active().exclude(rotated_at=None)
            case TokenState.EXPIRING:
                return self.rotatable().filter(expires_at__lte=now + EXPIRY_NOTICE)
        return self.rotatable().filter(Q(expires_at=None) | Q(expires_at__gt=now + EXPIRY_NOTICE))

    def rotatable(self) -> "TokenQuerySet[T]":
        """Filter active tokens without a successor."""
        return self.active().filter(rotated_at=None)

    def unused(self) -> "TokenQuerySet[T]":
        """Filter active tokens without a successor that were not used in the last 90 days."""
        since = timezone.now() - UNUSED_NOTICE
        return self.rotatable().filter(Q(last_used_at__lte=since) | Q(last_used_at=None, created_at__lte=since))

    def issue(self, **fields: Any) -> tuple[T, str]:
        """Create a token and return it with its secret, which is not stored."""
        token = self.model(**fields)
        secret = token.assign_secret()
        token.save(using=self.for_write().db, force_insert=True)
        return token, secret

    def rotate(self, grace: timedelta) -> list[tuple[T, T, str]]:
        """Issue a successor for each token of the queryset that is active and has none.

        Return each token with its successor and the successor's secret. A successor has the name, the owner and the
        permissions of the token, and the lifetime that the token had when it was issued. The token expires after
        ``grace``, if not earlier.
        """
        rows = self.for_write()
        with transaction.atomic(using=rows.db):
            tokens = list(rows.rotatable().select_for_update(of=("self",)).order_by("pk"))
            now = timezone.now()
            issued: list[Any] = [(token, *token.new_successor(now)) for token in tokens]
            successors = self.model._base_manager.using(rows.db).bulk_create([new for _, new, _ in issued])
            for token in tokens:
                token.rotated_at, token.expires_at = now, min(now + grace, token.expires_at or now + grace)
            expires_at = Case(When(expires_at__lt=now + grace, then=F("expires_at")), default=Value(now + grace))
            rows._same(tokens).update(rotated_at=now, expires_at=expires_at)
            announce(created, successors, rows.db)
            announce(rotated, tokens, rows.db, successors=[copy(token) for token in successors])
        return issued

    def revoke(self) -> list[T]:
        """Revoke the tokens of the queryset permanently. Return those that were not revoked before."""
        rows = self.for_write()
        with transaction.atomic(using=rows.db):
            tokens = list(rows.filter(revoked_at=None).select_for_update(of=("self",)).order_by("pk"))
            now = timezone.now()
            for token in tokens:
                token.revoked_at = now
            rows._same(tokens).update(revoked_at=now)
            announce(revoked, tokens, rows.db)
        return tokens

    def _same(self, tokens: list[T]) -> models.QuerySet[T]:
        """Return a queryset of the tokens alone, whatever the filters of this one are."""
        return self.model._base_manager.using(self.db).filter(pk__in=[token.pk for token in tokens])

    def authenticate(self, secret: str, owner_fields: tuple[str, ...] = ()) -> T | None:
        """Return the active token with this secret, with its owner loaded, or None. Takes at most one query.

        The large fields of the owner are loaded only if they are among ``owner_fields``, or later, if they are read.
        The query goes to the database for writes: a replica that lags behind would accept a revoked token.
        """
        if not secret_format.is_well_formed(secret, self.model.prefix):
            return None
        digest, now = secret_format.digest(secret), timezone.now()
        if self.query.where:  # The compiled statement has no other filters.
            return self.for_write().active(now).filter(digest=digest).select_related(self.model.owner_field).first()
        found = _look_up(type(self), self.model, self.db_for_write, owner_fields)(digest=digest, expires_at=now)
        return found[0] if found else None

    def get_by_public_id(self, public_id: str) -> T:
        """Return the token with this id. Raises DoesNotExist."""
        if not re.fullmatch(r"[0-9a-f]{64}", public_id):
            raise self.model.DoesNotExist
        return self.get(digest=bytes.fromhex(public_id))


@cache
def _look_up(queryset: type[TokenQuerySet[T]], model: type[T], using: str, owner_fields: tuple[str, ...]) -> Select[T]:
    """Return the statement that reads an active token and its owner by the digest of its secret."""
    given = parameters(model, "digest", "expires_at")
    tokens = queryset(model, using=using).active(given["expires_at"]).filter(digest=given["digest"])
    return Select(tokens, model.owner_field, [name for name in model.owner_deferred if name not in owner_fields])
