"""The abstract model of a token that authenticates its bearer, and its
queryset.
"""

import re
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from copy import copy
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from functools import cache
from typing import Any, ClassVar, TypeVar, cast

from django.core.exceptions import ValidationError
from django.db import IntegrityError, models, router, transaction
from django.db.models import Count, F, OuterRef, Q, Subquery
from django.http import HttpRequest
from django.utils import timezone
from django.utils.translation import gettext_lazy as _
from rest_framework.request import Request

from usergroups.db.announcements import announce, announced_copy
from usergroups.db.compiled_statements import (
    CompiledStatement,
    compile_select_related,
    parameters,
    select_statement,
)
from usergroups.db.models import NotedModel
from usergroups.db.querysets import WritingManager, WritingQuerySet
from usergroups.db.retry import retry_on_conflict
from usergroups.events import Event, Kind, events_about, record_events
from usergroups.signals import created, revoked, rotated

from . import secret_format
from .call_records import (
    MAX_ADDRESS_LENGTH,
    MAX_AGENT_LENGTH,
    PRECISION,
    client_of,
    write_once_a_minute,
)

MAX_TOKEN_NAME_LENGTH = 255
# the length of a username
MAX_OPERATOR_LENGTH = 150

MAX_ACTIVE_TOKENS = 1_000
"""The maximum number of active tokens of an owner."""

MAX_ROTATIONS = 10
"""How often a token and its successors can be rotated in an hour by calls."""

EXPIRY_NOTICE = timedelta(days=14)
"""How long before its expiry a token is "Expiring soon"."""

UNUSED_NOTICE = timedelta(days=90)
"""How long after its last use a token counts as unused."""

REFUSAL_NOTICE = timedelta(days=7)
"""How long after its last refused call a token is reported."""

MAX_GRACE = timedelta(days=30)
"""The maximum period for which a rotated token still works."""

T = TypeVar("T", bound="Token")


class TooManyTokens(Exception):
    """The owner already has MAX_ACTIVE_TOKENS active tokens."""


class TooManyRotations(Exception):
    """The token and its successors were rotated MAX_ROTATIONS times in the
    last hour.

    ``wait`` is the time until the next rotation is possible.
    """

    def __init__(self, wait: timedelta) -> None:
        super().__init__(wait)
        self.wait = wait


@dataclass
class Revocation:
    """What was done to revoke a token."""

    revoked: list[str] = field(default_factory=list)
    """The public ids of the tokens that were revoked for it, in the order of
    their rotations.
    """
    successor: str | None = None
    """The public id of the newest active token that descends from it."""


class TokenState(models.TextChoices):
    ACTIVE = "active", _("Active")
    EXPIRING = "expiring", _("Expiring soon")
    ROTATED = "rotated", _("Rotated")
    EXPIRED = "expired", _("Expired")
    REVOKED = "revoked", _("Revoked")


class TokenQuerySet(WritingQuerySet[T]):
    """Filters, rotates and revokes tokens."""

    def active(self) -> "TokenQuerySet[T]":
        """Filter tokens that are neither revoked nor expired."""
        not_expired = Q(expires_at=None) | Q(expires_at__gt=timezone.now())
        return self.filter(not_expired, revoked_at=None)

    def in_state(self, state: str) -> "TokenQuerySet[T]":
        """Filter tokens in this TokenState, as ``Token.state`` defines it:
        rotated and expiring ones are not ACTIVE.
        """
        now = timezone.now()
        notice = now + EXPIRY_NOTICE
        match state:
            case TokenState.REVOKED:
                return self.exclude(revoked_at=None)
            case TokenState.EXPIRED:
                return self.filter(revoked_at=None, expires_at__lte=now)
            case TokenState.ROTATED:
                return self.active().exclude(rotated_at=None)
            case TokenState.EXPIRING:
                return self.rotatable().filter(expires_at__lte=notice)
        return self.rotatable().exclude(expires_at__lte=notice)

    def rotatable(self) -> "TokenQuerySet[T]":
        """Filter active tokens without a successor."""
        return self.active().filter(rotated_at=None)

    def unused(self) -> "TokenQuerySet[T]":
        """Filter active tokens without a successor that were not used in the
        last 90 days.
        """
        since = timezone.now() - UNUSED_NOTICE
        used_before = Q(last_used_at__lte=since)
        never_used = Q(last_used_at=None, created_at__lte=since)
        return self.rotatable().filter(used_before | never_used)

    def expire_within(self, period: timedelta) -> "TokenQuerySet[T]":
        """Filter active tokens that expire in this period from now."""
        end = timezone.now() + period
        return self.active().filter(expires_at__lte=end)

    def refused(self) -> "TokenQuerySet[T]":
        """Filter tokens with refused calls in the last 7 days."""
        since = timezone.now() - REFUSAL_NOTICE
        return self.filter(last_refused_at__gte=since)

    def old(self, at: datetime) -> "TokenQuerySet[T]":
        """Filter tokens that expired or were revoked until then."""
        return self.filter(Q(expires_at__lte=at) | Q(revoked_at__lte=at))

    def lock_owners(self, owners: Sequence[models.Model]) -> None:
        """Lock these owners until the transaction ends, and set their fields
        that tokens copy to the stored values.

        Call this before tokens are counted or issued, so that concurrent
        transactions neither exceed the maximum nor change the copied fields.
        Raises IntegrityError if an owner has been deleted.
        """
        locked = self._owners_to_lock([owner.pk for owner in owners]).in_bulk()
        for owner in owners:
            if owner.pk not in locked:
                raise IntegrityError("The owner of the token has been deleted.")
            for name in self.model.owner_copies:
                setattr(owner, name, getattr(locked[owner.pk], name))

    def _owners_to_lock(self, keys: Any) -> models.QuerySet[Any]:
        """Return a queryset that locks the owners with these keys, which may
        be a subquery.
        """
        relation: Any = self.model._meta.get_field(self.model.owner_field)
        owners = relation.related_model._base_manager.using(self.db)
        owners = owners.filter(pk__in=keys).only(*self.model.owner_copies)
        # ``no_key`` is the weaker lock that an UPDATE takes. Inserts of
        # bookmarks do not wait for it.
        locked: models.QuerySet[Any] = owners.select_for_update(no_key=True)
        return locked.order_by("pk")

    def count_active(self, owners: Sequence[object]) -> Counter[object]:
        """Return the number of active tokens of each of these owners, by the
        owner's primary key.

        There are two queries, so that each can read a range of an index of the
        owner and ``expires_at``, without the expired and the revoked tokens.
        """
        owner_field = self.model.owner_field
        of_owners = {f"{owner_field}__in": owners}
        tokens = self.for_write().filter(**of_owners, revoked_at=None)
        permanent = tokens.filter(expires_at=None)
        others = tokens.filter(expires_at__gt=timezone.now())
        counts = Counter[object]()
        for active in (permanent, others):
            by_owner = active.values_list(owner_field).annotate(Count("pk"))
            counts.update(dict(by_owner))
        return counts

    def with_lineage(self) -> "TokenQuerySet[T]":
        """Annotate the digests of the token that each replaces, and of its
        newest successor.
        """
        of_owner = {self.model.owner_field: OuterRef(self.model.owner_field)}
        tokens = self.model._base_manager.filter(**of_owner)
        replaced = tokens.filter(pk=OuterRef("predecessor_id"))
        successors = tokens.filter(predecessor_id=OuterRef("pk")).order_by("-pk")
        digests: dict[str, object] = {
            "predecessor_digest": Subquery(replaced.values("digest")[:1]),
            "successor_digest": Subquery(successors.values("digest")[:1]),
        }
        annotated: TokenQuerySet[T] = self.annotate(**digests)
        return annotated

    def _all_tokens(self) -> "TokenQuerySet[T]":
        """Return all tokens, without the filters of this queryset."""
        return type(self)(self.model, using=self.db)

    def rotate(
        self, grace: timedelta, by: str = "", *, limited: bool = False
    ) -> list[tuple[T, T, str]]:
        """Issue a successor for each token of the queryset that is active and
        has none. ``by`` is the name of the operator, if any.

        Return each token with its successor and the successor's secret. A
        successor has the name, the owner and the permissions of the token, and
        the lifetime that the token had when it was issued. The token expires
        after ``grace``, unless it expires earlier.

        If ``limited``, the queryset has one token, for a client that may have
        lost the response to a rotation: a successor that was never used is
        revoked, and replaced. Raises TooManyRotations only then.

        Raises TooManyTokens if, because of the grace period, an owner would
        have more than MAX_ACTIVE_TOKENS, and ValidationError if ``grace`` is
        not a timedelta from zero to MAX_GRACE.
        """
        if not isinstance(grace, timedelta) or not timedelta() <= grace <= MAX_GRACE:
            reason = "The grace period is not a timedelta of 0 to 30 days."
            raise ValidationError({"grace": reason})
        rows = self.for_write()
        with transaction.atomic(using=rows.db):
            rows._lock_owners_of_tokens()
            # A call may repeat a rotation, so tokens with a successor count.
            candidates = rows.active() if limited else rows.rotatable()
            locked = candidates.defer(None).select_for_update(of=("self",))
            tokens = list(locked.order_by("pk"))
            replaced = rows._revoke_unused_successors(tokens)
            tokens = [
                token
                for token in tokens
                if token.rotated_at is None or token.pk in replaced
            ]
            if limited:
                rows._require_few_rotations(tokens)
            now = timezone.now()
            latest_expiry = now + grace
            issued: list[Any] = []
            for token in tokens:
                # The unused successor has the lifetime that the token had.
                like = replaced.get(token.pk, token)
                issued.append((token, *token.new_successor(now, like)))
                token.rotated_at = now
                token.rotated_by = by
                token.expires_at = min(token.expires_at or latest_expiry, latest_expiry)
            every = rows._all_tokens()
            every.bulk_update(tokens, ["rotated_at", "rotated_by", "expires_at"])
            successors = every.bulk_create([new for _old, new, _secret in issued])
            if grace:
                every._require_no_more_than_maximum(tokens)
            announce(created, successors, rows.db)
            # announce() copies its instances, but not its other arguments. The
            # caller may add secrets to the successors.
            copies = [announced_copy(successor) for successor in successors]
            announce(rotated, tokens, rows.db, successors=copies)
            if issued:
                record_events(events_of_rotation(issued), rows.db)
        return issued

    # Managers do not have this method, as with Django's delete().
    rotate.queryset_only = True  # type: ignore[attr-defined]

    def _require_no_more_than_maximum(self, tokens: list[T]) -> None:
        """Raise TooManyTokens if an owner of these tokens has more than
        MAX_ACTIVE_TOKENS.
        """
        counts = self.count_active([token.owner_id for token in tokens])
        if any(number > MAX_ACTIVE_TOKENS for number in counts.values()):
            raise TooManyTokens

    def _lock_owners_of_tokens(self) -> None:
        """Lock the owners of the tokens until the transaction ends."""
        list(self._owners_to_lock(self.order_by().values(self.model.owner_field)))

    def _revoke_unused_successors(self, tokens: list[T]) -> dict[int | None, T]:
        """Revoke the successors of these tokens that no call has used yet, and
        return them by the key of the token that they replaced.
        """
        rotated = [token.pk for token in tokens if token.rotated_at is not None]
        if not rotated:
            return {}
        successors = self._all_tokens().filter(predecessor_id__in=rotated)
        unused = successors.filter(last_used_at=None, rotated_at=None)
        return {token.predecessor_id: token for token in unused.revoke()}

    def _require_few_rotations(self, tokens: list[T]) -> None:
        """Raise TooManyRotations if one of the tokens and its successors were
        rotated MAX_ROTATIONS times in the last hour.

        Only the tokens of the owner are read, which an index finds.
        """
        start = timezone.now() - timedelta(hours=1)
        for token in tokens:
            recent = self._all_tokens().filter(
                **{self.model.owner_field: token.owner_id},
                first_id=token.chain,
                created_at__gt=start,
            )
            recent = recent.order_by("created_at")
            times = list(recent.values_list("created_at", flat=True))
            if len(times) >= MAX_ROTATIONS:
                raise TooManyRotations(times[-MAX_ROTATIONS] - start)

    def origin_keys_of_descendants(self) -> dict[int, int]:
        """Return a dict of the tokens that descend from these by rotation: by
        the key of each, the key of the token from which it descends. The tokens
        themselves are in it, too.
        """
        tokens = list(self.defer(None))
        chains = {token.chain for token in tokens if token.rotated_at is not None}
        # An index finds the chains by their owners.
        owner_ids = {token.owner_id for token in tokens}
        of_chains = self._all_tokens().filter(
            **{f"{self.model.owner_field}__in": owner_ids}, first_id__in=chains
        )
        origins = {token.pk: token.pk for token in tokens}
        # A successor has a greater key than the token that it replaces.
        links = of_chains.order_by("pk").values_list("pk", "predecessor_id")
        for key, predecessor in links:
            if predecessor in origins:
                origins.setdefault(key, origins[predecessor])
        return origins

    def revoke(self, by: str = "", *, successors: bool = False) -> list[T]:
        """Revoke the tokens of the queryset permanently, and with
        ``successors`` all that descend from them by rotation.

        ``by`` is the name of the operator, if any. Return those that were not
        revoked before.
        """
        rows = self.for_write()
        with transaction.atomic(using=rows.db):
            if successors:
                # A concurrent rotation waits, and then finds no active token.
                rows._lock_owners_of_tokens()
                keys_of_all = rows.origin_keys_of_descendants().keys()
                rows = rows._all_tokens().filter(pk__in=keys_of_all)
            unrevoked = rows.filter(revoked_at=None)
            tokens = list(unrevoked.select_for_update(of=("self",)).order_by("pk"))
            now = timezone.now()
            for token in tokens:
                token.revoked_at = now
                token.revoked_by = by
            keys = [token.pk for token in tokens]
            revoked_rows = rows._all_tokens().filter(pk__in=keys)
            revoked_rows.update(revoked_at=now, revoked_by=by)
            announce(revoked, tokens, rows.db)
            if tokens:
                record_events(events_about(Kind.REVOKED, tokens), rows.db)
        return tokens

    # Managers do not have this method either.
    revoke.queryset_only = True  # type: ignore[attr-defined]

    def get_by_public_id(self, public_id: str) -> T:
        """Return the token with this id. Raises DoesNotExist."""
        digest = digest_of(public_id)
        if digest is None:
            raise self.model.DoesNotExist
        return self.get(digest=digest)

    def revoke_by_public_ids(
        self, public_ids: Sequence[str], *, successors: bool = False
    ) -> "list[Revocation | None]":
        """Do what ``revoke()`` does to the tokens with these ids.

        Return what was done for each id, or None if there is no such token. A
        token that is revoked for an id is not named for a later one.
        """
        digests = [digest_of(public_id) for public_id in public_ids]
        tokens = self.for_write().filter(digest__in=filter(None, digests))

        def revoke_and_report() -> dict[str, Revocation]:
            by_key = {token.pk: Revocation() for token in tokens}
            by_id = {token.public_id: by_key[token.pk] for token in tokens}
            revoked_now = tokens.revoke(successors=successors)
            origin_keys = tokens.origin_keys_of_descendants()
            for token in revoked_now:
                by_key[origin_keys[token.pk]].revoked.append(token.public_id)
            # Without ``successors``, descendants may still be active. Report the
            # newest one of each token.
            descendants = tokens._all_tokens().filter(pk__in=origin_keys).active()
            for token in descendants.order_by("pk"):
                by_key[origin_keys[token.pk]].successor = token.public_id
            return by_id

        by_id = retry_on_conflict(revoke_and_report, tokens.db)
        results: list[Revocation | None] = []
        for public_id in public_ids:
            revocation = by_id.get(public_id)
            results.append(revocation)
            if revocation is not None:
                by_id[public_id] = replace(revocation, revoked=[])
        return results

    # Nor this one.
    revoke_by_public_ids.queryset_only = True  # type: ignore[attr-defined]


class TokenManager(WritingManager[T]):
    """Issues tokens, and finds them by their secrets."""

    def issue(self, **fields: Any) -> tuple[T, str]:
        """Create a token and return it with its secret, which is not stored.

        Raises TooManyTokens, and IntegrityError if the owner is deleted.
        """
        owner = fields.pop(self.model.owner_field)
        [issued] = self.issue_for_each([owner], **fields)
        if issued is None:
            raise TooManyTokens
        return issued

    def issue_for_each(
        self, owners: Sequence[models.Model], **fields: object
    ) -> list[tuple[T, str] | None]:
        """Create a token with these fields for each owner.

        Return each token with its secret, or None in their place if the owner
        already has MAX_ACTIVE_TOKENS active tokens. An owner who is listed
        twice gets two tokens. Raises IntegrityError if an owner is deleted.
        """
        rows = cast(TokenQuerySet[T], self.on_db_for_write().get_queryset())
        cleaned = self.model.cleaned_values(fields)
        issued: list[tuple[T, str] | None] = []
        tokens = []
        with transaction.atomic(using=rows.db):
            rows.lock_owners(owners)
            counts = rows.count_active(owners)
            for owner in owners:
                if counts[owner.pk] >= MAX_ACTIVE_TOKENS:
                    issued.append(None)
                    continue
                counts[owner.pk] += 1
                token = self.model(**{self.model.owner_field: owner}, **cleaned)
                token.copy_owner()
                issued.append((token, token.assign_secret()))
                tokens.append(token)
            self.model._base_manager.using(rows.db).bulk_create(tokens)
            announce(created, tokens, rows.db)
        return issued

    def with_secret(
        self, secret: str, large_owner_fields: tuple[str, ...] = ()
    ) -> T | None:
        """Return the token with this secret, in any state, or None.

        The query goes to the database for writes, because a replica that lags
        behind would accept a revoked token. If the model ``reads_owner``, the
        query also loads the owner, with those of its large fields that
        ``large_owner_fields`` names.
        """
        if not secret_format.is_well_formed(secret, self.model.prefix):
            return None
        using = self.db_for_write
        if self.model.reads_owner:
            select = _select_with_owner(self.model, using, large_owner_fields)
        else:
            select = select_statement(self.model, using, "digest")
        found = select.execute(digest=secret_format.digest(secret))
        return next(iter(found), None)


def digest_of(public_id: str) -> bytes | None:
    """Return the digest in a ``Token.public_id``, or None for other text."""
    if re.fullmatch(r"[0-9a-f]{64}", public_id):
        return bytes.fromhex(public_id)
    return None


def events_of_rotation(issued: Sequence[tuple[T, T, str]]) -> list[Event]:
    """Return the events of what ``TokenQuerySet.rotate`` returns, which are
    about the old and the new tokens.
    """
    tokens = [old for old, _new, _secret in issued]
    successors = {old.pk: new for old, new, _secret in issued}

    def name(old: T) -> str:
        return f"{old.hint}… → {successors[old.pk].hint}…"

    def keys_of(old: T) -> list[int]:
        return [old.pk, successors[old.pk].pk]

    return events_about(Kind.ROTATED, tokens, name, keys_of)


@cache
def _select_with_owner(
    model: type[T], using: str, large_owner_fields: tuple[str, ...]
) -> CompiledStatement[T]:
    """Return the statement that reads the token with a digest, and its owner.

    Its parameter is ``digest``.
    """
    deferred = [name for name in model.owner_deferred if name not in large_owner_fields]
    tokens = model._base_manager.using(using).filter(**parameters(model, "digest"))
    return compile_select_related(tokens, model.owner_field, deferred)


def indexes_for_lists(prefix: str) -> list[models.Index]:
    """Return the indexes by which the admin lists tokens of all owners. Their
    names begin with ``prefix``.
    """
    return [
        # The lists of the API do not ask for unrevoked tokens, and therefore
        # never read this index.
        models.Index(
            fields=["expires_at"],
            condition=Q(revoked_at=None, expires_at__isnull=False),
            name=f"{prefix}_tokens_by_expiry",
        ),
        models.Index(
            fields=["predecessor_id", "id"],
            condition=Q(predecessor_id__isnull=False),
            name=f"{prefix}_token_successors",
        ),
        # A call that is accepted writes no column of this index.
        models.Index(
            fields=["last_refused_at"],
            condition=Q(last_refused_at__isnull=False),
            name=f"{prefix}_refused_tokens",
        ),
    ]


NOT_INHERITED = (
    "rotated_at",
    "rotated_by",
    "revoked_at",
    "revoked_by",
    "last_used_at",
    "last_used_address",
    "last_used_agent",
    "first_refused_at",
    "last_refused_at",
    "refused_minutes",
)
"""The fields that a successor does not take over."""


class Token(NotedModel):
    """A secret that authenticates its owner until it expires or is revoked.

    Only its digest and its hint are stored.
    """

    prefix: ClassVar[str]
    """The prefix of the secrets of this model."""
    owner_field: ClassVar[str]
    """The name of the foreign key to the owner."""
    reads_owner: ClassVar[bool] = False
    """Whether authentication reads the owner with the token."""
    owner_deferred: ClassVar[tuple[str, ...]] = ()
    """Large fields of the owner, which authentication reads only if the view's
    ``large_owner_fields`` contain them.
    """

    # Set by ``TokenQuerySet.with_lineage()``.
    predecessor_digest: bytes | memoryview | None = None
    successor_digest: bytes | memoryview | None = None

    owner_copies: ClassVar[tuple[str, ...]] = ()
    """The attributes of the owner that the token has as well, for an index."""

    digest = models.BinaryField(max_length=32, unique=True, editable=False)
    hint = models.CharField(
        _("hint"),
        max_length=16,
        editable=False,
        help_text=_("The beginning of the secret."),
    )
    created_at = models.DateTimeField(
        _("created"), default=timezone.now, editable=False
    )
    name = models.CharField(
        _("name"),
        max_length=MAX_TOKEN_NAME_LENGTH,
        blank=True,
        help_text=_("What the token is for."),
    )
    read_only = models.BooleanField(
        _("read only"), default=False, help_text=_("Whether the token can only read.")
    )
    expires_at = models.DateTimeField(_("expires"), null=True, blank=True)
    revoked_at = models.DateTimeField(
        _("revoked"), null=True, blank=True, editable=False
    )
    # The operator, or empty if the API or a program revoked the token
    revoked_by = models.CharField(
        _("revoked by"),
        max_length=MAX_OPERATOR_LENGTH,
        default="",
        db_default="",
        editable=False,
    )
    rotated_at = models.DateTimeField(
        _("rotated"), null=True, blank=True, editable=False
    )
    # as ``revoked_by``
    rotated_by = models.CharField(
        _("rotated by"),
        max_length=MAX_OPERATOR_LENGTH,
        default="",
        db_default="",
        editable=False,
    )
    # The key of the token that this one replaces. There is no constraint, so
    # that either can be deleted without a look at the other.
    predecessor_id = models.BigIntegerField(null=True, editable=False)
    # The key of the first token of this chain of rotations, or None for that
    # token itself
    first_id = models.BigIntegerField(null=True, editable=False)
    last_used_at = models.DateTimeField(
        _("last used"),
        null=True,
        blank=True,
        editable=False,
        help_text=_("Accurate to one minute."),
    )
    last_used_address = models.CharField(
        _("last used from"),
        max_length=MAX_ADDRESS_LENGTH,
        default="",
        editable=False,
        help_text=_(
            "The client's address. For IPv6, the first address of its /64 network."
        ),
    )
    last_used_agent = models.CharField(
        _("last used by"),
        max_length=MAX_AGENT_LENGTH,
        default="",
        editable=False,
        help_text=_("What the client calls itself: its User-Agent header."),
    )
    # Of the calls that were refused because the token is expired or revoked
    first_refused_at = models.DateTimeField(
        _("first refused"), null=True, blank=True, editable=False
    )
    last_refused_at = models.DateTimeField(
        _("last refused"),
        null=True,
        blank=True,
        editable=False,
        help_text=_("Accurate to one minute."),
    )
    refused_minutes = models.PositiveIntegerField(
        _("minutes with refused calls"), default=0, db_default=0, editable=False
    )

    rows = TokenQuerySet.as_manager()
    objects = TokenManager.from_queryset(TokenQuerySet)()

    class Meta:
        abstract = True

    def __str__(self) -> str:
        return f"{self.hint}… {self.name}".rstrip()

    def save(self, *args: Any, **kwargs: Any) -> None:
        if self._state.adding:
            self.copy_owner()
        super().save(*args, **kwargs)

    def copy_owner(self) -> None:
        """Set the ``owner_copies`` to the values of the owner."""
        for name in self.owner_copies:
            setattr(self, name, getattr(self.owner, name))

    @property
    def chain(self) -> int:
        """What this token, those that it replaces and its successors have in
        common.
        """
        return self.first_id or self.pk

    @property
    def public_id(self) -> str:
        """The id in the API: the digest in hexadecimal, which can be computed
        from a leaked secret.
        """
        return bytes(self.digest).hex()

    def assign_secret(self) -> str:
        """Set the digest and hint of a new secret, without saving the token,
        and return the secret.
        """
        secret = secret_format.generate(self.prefix)
        self.digest = secret_format.digest(secret)
        self.hint = secret_format.hint(secret)
        return secret

    @property
    def owner_key(self) -> tuple[type[models.Model], object]:
        """The model and the key of the owner, which is not loaded for them."""
        relation: Any = self._meta.get_field(self.owner_field)
        return relation.related_model, self.owner_id

    @property
    def owner_id(self) -> object:
        """The key of the owner, which is not loaded for it."""
        return getattr(self, f"{self.owner_field}_id")

    @property
    def owner(self) -> models.Model:
        owner: models.Model = getattr(self, self.owner_field)
        return owner

    @property
    def state(self) -> TokenState:
        if self.revoked_at is not None:
            return TokenState.REVOKED
        now = timezone.now()
        if self.expires_at is not None and self.expires_at <= now:
            return TokenState.EXPIRED
        if self.rotated_at is not None:
            return TokenState.ROTATED
        if self.expires_at is not None and self.expires_at <= now + EXPIRY_NOTICE:
            return TokenState.EXPIRING
        return TokenState.ACTIVE

    @property
    def is_active(self) -> bool:
        if self.revoked_at is not None:
            return False
        return self.expires_at is None or self.expires_at > timezone.now()

    def revoke(self, *, successors: bool = False) -> None:
        """Revoke the token permanently, and with ``successors`` all that
        descend from it by rotation.

        A second revocation does not change the time of the first.
        """
        tokens = self._tokens.filter(pk=self.pk)
        retry_on_conflict(lambda: tokens.revoke(successors=successors), tokens.db)
        self.refresh_from_db(using=tokens.db, fields=["revoked_at"])

    def rotate(self, grace: timedelta, *, limited: bool = False) -> "tuple[Token, str]":
        """Issue a successor as ``TokenQuerySet.rotate()`` does, and return it
        with its secret.

        Raises DoesNotExist if this token is not active or already has a
        successor, and with ``limited`` also what that method raises.
        """
        tokens = self._tokens.filter(pk=self.pk)
        issued = retry_on_conflict(
            lambda: tokens.rotate(grace, limited=limited), tokens.db
        )
        if not issued:
            raise self.DoesNotExist
        [(_token, successor, secret)] = issued
        return successor, secret

    def new_successor(self, now: datetime, like: "Token") -> "tuple[Token, str]":
        """Return an unsaved successor of this token, and its secret.

        It has the name, the owner, the rights and the lifetime of ``like``:
        this token, or a successor that it replaces.
        """
        successor = copy(like)
        successor.pk = None
        successor.predecessor_id = self.pk
        successor.predecessor_digest = self.digest
        successor.first_id = self.chain
        successor._state.adding = True
        successor.created_at = now
        if like.expires_at is not None:
            lifetime = like.expires_at - like.created_at
            # The sum may be too late for a datetime. Then keep the old time,
            # thousands of years from now.
            with suppress(OverflowError):
                successor.expires_at = now + lifetime
        for name in NOT_INHERITED:
            own_field: Any = self._meta.get_field(name)
            setattr(successor, name, own_field.get_default())
        return successor, successor.assign_secret()

    @property
    def _tokens(self) -> Any:
        """All tokens of the model, on the database for writes."""
        using = router.db_for_write(type(self), instance=self)
        return type(self).objects.db_manager(using)

    def mark_used(self, request: HttpRequest | Request) -> None:
        """Store the time and client of the last use, at most once a minute."""
        now = timezone.now()
        # This saves a query. The row may have a later time than this instance.
        if self.last_used_at and self.last_used_at > now - PRECISION:
            return
        write_once_a_minute(self, "last_used_at", now, **client_of(request))

    def mark_refused(self) -> None:
        """Store that a call was refused because the token is not active, at
        most once a minute.
        """
        now = timezone.now()
        if self.last_refused_at and self.last_refused_at > now - PRECISION:
            return
        write_once_a_minute(
            self,
            "last_refused_at",
            now,
            first_refused_at=self.first_refused_at or now,
            refused_minutes=F("refused_minutes") + 1,
        )
