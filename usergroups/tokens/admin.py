"""The base class of the admin of tokens."""

from collections.abc import Sequence
from datetime import timedelta
from typing import Any, ClassVar, TypeVar

from django.contrib import admin
from django.contrib.auth import get_permission_codename
from django.contrib.humanize.templatetags.humanize import intcomma
from django.db.models import Model, Q, QuerySet
from django.forms import ModelForm
from django.http import HttpRequest, HttpResponse
from django.utils import timezone
from django.utils.functional import Promise
from django.utils.html import format_html, format_html_join
from django.utils.text import capfirst
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from usergroups.admin_tools.cells import (
    badge,
    relative_time,
    short_date,
    two_lines,
)
from usergroups.admin_tools.confirmations import Confirmation
from usergroups.admin_tools.forms import OperatorForm
from usergroups.admin_tools.history import write_log_entries
from usergroups.admin_tools.lists import ListFilters
from usergroups.admin_tools.operator_admin import OperatorAdmin
from usergroups.admin_tools.paginator import bounded_number
from usergroups.events import Kind, actor_name

from . import secret_format
from .admin_forms import GraceForm, NewTokenForm, RevocationForm
from .admin_states import (
    EXPIRY_PERIODS,
    TokenStateFilter,
    refusals_sentence,
    state_sentence,
    time_and_operator,
    tokens_of_same_owner,
)
from .models import (
    MAX_ACTIVE_TOKENS,
    MAX_OPERATOR_LENGTH,
    Token,
    TokenQuerySet,
    TooManyTokens,
    digest_of,
)

T = TypeVar("T", bound=Token)

USE_FIELDS = ("last_used", "last_used_address", "last_used_agent")
"""The fields that the page of a token shows if the token has been used."""


class TokenAdmin(OperatorAdmin[T]):
    """An admin that issues, rotates and revokes tokens.

    Only the name of a token and its notes can be edited.
    """

    owner_form_fields: ClassVar[tuple[str, ...]]
    """The form fields that identify the owner of the token."""
    usage: ClassVar[str | Promise] = ""
    """How calls use the token, such as "as Token on /api/…"."""
    owner_columns: ClassVar[tuple[str, ...]] = ()
    """The columns of the list that show the owner, by default the
    ``owner_form_fields``.
    """

    list_filter: ClassVar[ListFilters] = (TokenStateFilter, "read_only")
    actions = ("rotate", "revoke", "delete_selected")
    object_actions = {"rotate": _("Rotate"), "revoke": _("Revoke")}
    find_fields = ("name",)
    readonly_fields = ("expires", "access", "created_at", *USE_FIELDS)

    # Forms

    @property
    def fixed_fields(self) -> tuple[str, ...]:  # type: ignore[override]
        return self.owner_form_fields

    def get_form(
        self,
        request: HttpRequest,
        obj: T | None = None,
        change: bool = False,
        **kwargs: Any,
    ) -> "type[ModelForm[T]]":
        """Return the form of a new token, or that of the name and the notes."""
        form: type[OperatorForm] = NewTokenForm
        if change:
            form = OperatorForm
        kwargs.setdefault("form", form)
        return super().get_form(request, obj, change, **kwargs)

    def get_fields(self, request: HttpRequest, obj: T | None = None) -> tuple[str, ...]:
        """Leave out the last use of a token that was never used."""
        fields = ("name", *self.owner_form_fields)
        if obj is None:
            return (*fields, "read_only", "lifetime", "notes")
        fields = (*fields, "access", "expires", "notes", "created_at")
        if obj.last_used_at is None:
            return fields
        return (*fields, *USE_FIELDS)

    def save_model(
        self, request: HttpRequest, obj: T, form: "ModelForm[T]", change: bool
    ) -> None:
        if not change:
            # response_add() shows it.
            request.issued_secret = obj.assign_secret()  # type: ignore[attr-defined]
        super().save_model(request, obj, form, change)

    def response_add(
        self, request: HttpRequest, obj: T, post_url_continue: str | None = None
    ) -> HttpResponse:
        """Show the secret in the response to the POST, the only one with it."""
        secret = request.issued_secret  # type: ignore[attr-defined]
        replaced = None
        return self.show_secrets(request, [(obj, secret, replaced)])

    def show_secrets(
        self,
        request: HttpRequest,
        issued: Sequence[tuple[T, str, T | None]],
        skipped: Sequence[T] = (),
    ) -> HttpResponse:
        """Show new tokens with their secrets, which no other response
        contains, and with the token that each replaces, if any.

        ``skipped`` are the selected tokens that were not rotated.
        """
        name = self.opts.verbose_name_plural
        if len(issued) == 1:
            name = self.opts.verbose_name
        title = capfirst(gettext("%(name)s issued") % {"name": name})
        text = gettext(
            "A secret is shown only now: copy it and store it securely. If you lose "
            "it, rotate the token."
        )
        if skipped:
            text += " " + gettext(
                "Not rotated, because only active tokens without a successor can be: "
                "{tokens}."
            ).format(tokens=", ".join(map(str, skipped)))
        return self.render_secrets(request, title, text, issued)

    def holder_of_secret(self, row: T) -> Model:
        return row.owner

    # Lists

    def get_list_display(self, request: HttpRequest) -> tuple[str, ...]:
        owner = self.owner_columns or self.owner_form_fields
        return (
            "name_and_hint",
            *owner,
            "state_badge",
            "access",
            "expires",
            "last_used",
        )

    def get_ordering(self, request: HttpRequest) -> Any:
        if request.GET.get("state") in EXPIRY_PERIODS:
            return ("expires_at", "pk")
        return super().get_ordering(request)

    # The page of a token

    def render_change_form(
        self,
        request: HttpRequest,
        context: dict[str, Any],
        *args: object,
        **kwargs: Any,
    ) -> HttpResponse:
        """Add the sentences at the top of the page."""
        token = context.get("original")
        if token is not None:
            context["sentence"] = self.sentences(token)
        return super().render_change_form(request, context, *args, **kwargs)

    def sentences(self, token: T) -> str:
        """Return what the top of the token's page says: its state, the tokens
        that replaced it and that it replaces, and its refused calls.
        """
        parts = [state_sentence(token, self.usage)]
        others = tokens_of_same_owner(token)
        if token.rotated_at is not None:
            for successor in others.filter(predecessor_id=token.pk):
                link = self.link_to(successor)
                rotated = time_and_operator(token.rotated_at, token.rotated_by)
                parts.append(format_html(gettext("Replaced by {} {}."), link, rotated))
        if token.predecessor_id is not None:
            for predecessor in others.filter(pk=token.predecessor_id):
                link = self.link_to(predecessor)
                parts.append(format_html(gettext("It replaces {}."), link))
        if token.last_refused_at is not None:
            parts.append(refusals_sentence(token))
        return format_html_join(" ", "{}", [[part] for part in parts])

    @admin.display(description=_("token"))
    def name_and_hint(self, token: T) -> str:
        name = token.name or gettext("Unnamed token")
        return two_lines(name, f"{token.hint}…")

    @admin.display(description=_("state"))
    def state_badge(self, token: T) -> str:
        return badge(token.state.value, str(token.state.label))

    @admin.display(description=_("access"), ordering="read_only")
    def access(self, token: T) -> str:
        if token.read_only:
            return gettext("Read")
        return gettext("Read, write")

    @admin.display(description=_("expires"), ordering="expires_at")
    def expires(self, token: T) -> str:
        if token.expires_at is None:
            return gettext("Never")
        distance = relative_time(token.expires_at) or ""
        return two_lines(short_date(token.expires_at), distance)

    @admin.display(description=_("last used"), ordering="last_used_at")
    def last_used(self, token: T) -> str:
        return relative_time(token.last_used_at) or gettext("Never")

    # Actions

    def has_revoke_permission(self, request: HttpRequest) -> bool:
        codename = get_permission_codename("revoke", self.opts)
        return request.user.has_perm(f"{self.opts.app_label}.{codename}")

    def has_rotate_permission(self, request: HttpRequest) -> bool:
        return self.has_add_permission(request) and self.has_revoke_permission(request)

    def get_buttons(
        self, request: HttpRequest, obj: T
    ) -> list[tuple[str, str | Promise]]:
        """Leave out what cannot be done with the token in its state."""
        buttons = dict(super().get_buttons(request, obj))
        if not obj.is_active:
            buttons.pop("revoke", None)
        if not obj.is_active or obj.rotated_at is not None:
            buttons.pop("rotate", None)
        return list(buttons.items())

    @admin.action(
        description=_("Revoke selected %(verbose_name_plural)s"),
        permissions=["revoke"],
    )
    @Confirmation(
        _("Revoke %(rows)s"),
        _(
            "Requests with a revoked token are rejected immediately. This cannot be "
            "undone."
        ),
        RevocationForm,
        irreversible=True,
    )
    def revoke(
        self,
        request: HttpRequest,
        queryset: TokenQuerySet[T],
        successors: bool = False,
    ) -> str:
        """Revoke the tokens, and say how many were revoked already."""
        tokens = list(queryset)
        revoked = queryset.revoke(by=operator_of(request), successors=successors)
        write_log_entries(request.user, Kind.REVOKED, revoked)
        if len(revoked) == 1 and revoked == tokens:
            return format_html(gettext("Revoked: {}."), self.link_to(revoked[0]))
        parts = [
            (gettext("Revoked: {}."), len(revoked)),
            (gettext("Already revoked: {}."), len({*tokens} - {*revoked})),
        ]
        return " ".join(text.format(number) for text, number in parts if number)

    @admin.action(
        description=_("Rotate selected %(verbose_name_plural)s"),
        permissions=["rotate"],
    )
    @Confirmation(
        _("Rotate %(rows)s"),
        _(
            "Each token gets a successor with the same name and permissions. Its "
            "secret is shown once."
        ),
        GraceForm,
    )
    def rotate(
        self, request: HttpRequest, queryset: TokenQuerySet[T], grace: timedelta
    ) -> HttpResponse | str:
        """Issue successors of the tokens, and show their secrets."""
        tokens = list(queryset)
        try:
            issued = queryset.rotate(grace, by=operator_of(request))
        except TooManyTokens:
            return gettext(
                "With this grace period, there would be more than %(number)s active "
                "tokens. Nothing was changed."
            ) % {"number": intcomma(MAX_ACTIVE_TOKENS)}
        if not issued:
            return gettext(
                "Only active tokens without a successor can be rotated. Nothing was "
                "changed."
            )
        rotated = [old for old, _new, _secret in issued]
        write_log_entries(request.user, Kind.ROTATED, rotated)
        skipped = [token for token in tokens if token not in rotated]
        secrets = [(new, secret, old) for old, new, secret in issued]
        return self.show_secrets(request, secrets, skipped)

    counts_use = True

    def is_in_use(self, row: T) -> bool:
        since = timezone.now() - timedelta(hours=24)
        return row.last_used_at is not None and row.last_used_at >= since

    def deletion_remark(self, rows: "QuerySet[T]") -> str:
        """Return how many tokens, which a deletion includes, are in use."""
        since = timezone.now() - timedelta(hours=24)
        used = bounded_number(rows.filter(last_used_at__gte=since))
        text = gettext("{names} used in the last 24 hours: {number}")
        names = capfirst(self.opts.verbose_name_plural)
        return text.format(names=names, number=used)

    def details(self, row: T) -> list[object]:
        """Return the owner, the access, the state, the expiry and the last use
        of the token.
        """
        expiry = relative_time(row.expires_at) or gettext("Never")
        return [
            self.link_to(row.owner),
            getattr(row, "environment", ""),
            self.access(row),
            row.state.label,
            format_html("{}: {}", gettext("expires"), expiry),
            format_html("{}: {}", gettext("last used"), self.last_used(row)),
            row.last_used_address,
            row.last_used_agent,
        ]

    # Find. It finds tokens in any state, also revoked and expired ones.

    @property
    def secret_prefix(self) -> str:  # type: ignore[override]
        return self.model.prefix

    def with_secrets(self, secrets: Sequence[str]) -> Q:
        """Match the tokens with these secrets. A secret that is incomplete or
        mistyped matches by its beginning.
        """
        digests = []
        hints = []
        for secret in secrets:
            digests.append(secret_format.digest(secret))
            if not secret_format.is_well_formed(secret, self.secret_prefix):
                hints.append(secret_format.hint(secret))
        return Q(digest__in=digests) | Q(hint__in=hints)

    def exact_condition(self, text: str) -> Q:
        """Also match the token's id in the API, and the beginning of its
        secret, anywhere in the text.
        """
        condition = super().exact_condition(text)
        digest = digest_of(text)
        if digest is not None:
            condition |= Q(digest=digest)
        for hint in secret_format.hints_in(text, self.secret_prefix):
            condition |= Q(hint__startswith=hint)
        return condition


def operator_of(request: HttpRequest) -> str:
    """Return the name of the operator to store with a token."""
    return actor_name(request.user)[:MAX_OPERATOR_LENGTH]
