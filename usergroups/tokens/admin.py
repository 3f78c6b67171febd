"""The base class of the admin of tokens, with its forms and its filter."""

import re
from collections.abc import Sequence
from datetime import timedelta
from typing import Any, ClassVar

from django import forms
from django.contrib import admin
from django.contrib.admin.models import ADDITION, CHANGE
from django.contrib.auth import get_permission_codename
from django.contrib.humanize.templatetags.humanize import intcomma
from django.db.models import Q
from django.http import HttpRequest, HttpResponse
from django.utils import timezone
from django.utils.functional import Promise
from django.utils.html import format_html
from django.utils.http import urlencode
from django.utils.text import capfirst
from django.utils.translation import gettext, gettext_noop
from django.utils.translation import gettext_lazy as _

from usergroups.admin_tools.base import (
    ConfirmationForm,
    OperatorAdmin,
    requires_confirmation,
)
from usergroups.admin_tools.forms import OperatorForm
from usergroups.admin_tools.lists import badge, log_rows, relative_time, two_lines

from . import secret_format
from .models import MAX_ACTIVE_TOKENS, Token, TokenState


class GraceForm(ConfirmationForm):
    """The grace period during which a rotated token still works."""

    grace = forms.TypedChoiceField(
        label=_("Old token expires"),
        choices=[
            (0, _("at once")),
            (24, _("after 1 day")),
            (168, _("after 7 days")),
            (720, _("after 30 days")),
        ],
        initial=24,
        coerce=lambda hours: timedelta(hours=int(hours)),
        help_text=_(
            "A grace period gives applications time to switch to the new token."
        ),
    )


class NewTokenForm(OperatorForm):
    """A new token, with a lifetime."""

    lifetime = forms.ChoiceField(
        label=_("Lifetime"),
        choices=[
            ("30", _("30 days")),
            ("90", _("90 days")),
            ("365", _("365 days")),
            ("", _("No expiry")),
        ],
        initial="90",
        required=False,
        help_text=_(
            "Calls with an expired token get 401. The successor of a rotated token has "
            "the same lifetime."
        ),
    )

    def clean(self) -> None:
        super().clean()
        model: type[Token] = self._meta.model
        owner = self.cleaned_data.get(model.owner_field)
        if owner is not None and model.objects.has_maximum(owner):
            text = gettext(
                "There are already %(number)s active tokens. Revoke some of them first."
            )
            self.add_error(
                model.owner_field, text % {"number": intcomma(MAX_ACTIVE_TOKENS)}
            )
        if days := self.cleaned_data.get("lifetime"):
            self.instance.expires_at = timezone.now() + timedelta(days=int(days))


class TokenStateFilter(admin.SimpleListFilter):
    title = _("state")
    parameter_name = "state"

    def lookups(self, request: HttpRequest, model_admin: Any) -> Any:
        return [*TokenState.choices, ("unused", _("Not used for 90 days"))]

    def queryset(self, request: HttpRequest, queryset: Any) -> Any:
        if self.value() == "unused":
            return queryset.unused()
        return (
            queryset.in_state(self.value())
            if self.value() in TokenState.values
            else queryset
        )


class TokenAdmin(OperatorAdmin):
    """An admin that issues, rotates and revokes tokens.

    Only the name of a token can be edited.
    """

    owner_fields: ClassVar[tuple[str, ...]]
    """The fields that identify the owner of the token."""
    owner_columns: ClassVar[tuple[str, ...]] = ()
    """The columns of the list that show the owner.

    By default, these are the owner_fields.
    """

    list_filter: ClassVar[Any] = (TokenStateFilter, "read_only")
    actions = ("rotate", "revoke", "delete_selected")
    object_actions = {"rotate": _("Rotate"), "revoke": _("Revoke")}
    find_fields = ("name", "hint")

    # Forms

    def get_form(
        self,
        request: HttpRequest,
        obj: Token | None = None,
        change: bool = False,
        **kwargs: Any,
    ) -> Any:
        return super().get_form(
            request,
            obj,
            change,
            **{"form": OperatorForm if change else NewTokenForm, **kwargs},
        )

    def get_fields(
        self, request: HttpRequest, obj: Token | None = None
    ) -> tuple[str, ...]:
        if obj is None:
            return ("name", *self.owner_fields, "read_only", "lifetime")
        last_use = (
            ("last_used", "last_used_address", "last_used_agent")
            if obj.last_used_at
            else ()
        )
        return (
            "name",
            "expires",
            *self.owner_fields,
            "access",
            "created_at",
            *last_use,
        )

    def get_readonly_fields(
        self, request: HttpRequest, obj: Token | None = None
    ) -> tuple[str, ...]:
        return self.get_fields(request, obj)[1:] if obj else ()  # all but the name

    def save_model(
        self, request: HttpRequest, obj: Any, form: Any, change: bool
    ) -> None:
        if not change:
            request.issued_secret = obj.assign_secret()  # type: ignore[attr-defined]
        super().save_model(request, obj, form, change)

    def response_add(
        self, request: Any, obj: Any, post_url_continue: str | None = None
    ) -> HttpResponse:
        return self.show_secrets(request, [(obj, request.issued_secret, None)])

    def show_secrets(
        self, request: HttpRequest, issued: Sequence[tuple[Token, str, Token | None]]
    ) -> HttpResponse:
        """Show the secrets of new tokens, and the token that each replaces, if
        any. No other response has them.
        """
        name = (
            self.opts.verbose_name
            if len(issued) == 1
            else self.opts.verbose_name_plural
        )
        title = capfirst(gettext("%(name)s issued") % {"name": name})
        text = gettext(
            "A secret is shown only now: copy it and store it securely. If you lose "
            "it, rotate the token."
        )
        return self.render_secrets(request, title, text, issued)

    # Lists

    def get_list_display(self, request: HttpRequest) -> Any:
        owner = self.owner_columns or self.owner_fields
        return ("name_and_hint", *owner, "badge", "access", "expires", "last_used")

    # The page of a token

    def render_change_form(
        self, request: HttpRequest, context: Any, *args: Any, **kwargs: Any
    ) -> HttpResponse:
        token = context.get("original")
        # The response to a new token shows its secret.
        context["show_save_and_continue"] = token is not None
        if token is not None:
            context["sentence"] = self.sentence(token)
            if not token.is_active and self.has_add_permission(request):
                names = ("name", *self.owner_fields, "read_only")
                values = {name: token.serializable_value(name) for name in names}
                query = urlencode(
                    {name: value for name, value in values.items() if value}
                )
                context["new_url"] = f"{self.url_of('add')}?{query}"
        return super().render_change_form(request, context, *args, **kwargs)

    def sentence(self, token: Token) -> str:
        """Return the sentence at the top of the token's page: its state, and
        what that means for calls.
        """
        match token.state:
            case TokenState.REVOKED:
                return format_html(
                    gettext("Revoked {}. Calls get 401."),
                    relative_time(token.revoked_at),
                )
            case TokenState.EXPIRED:
                return format_html(
                    gettext("Expired {}. Calls get 401."),
                    relative_time(token.expires_at),
                )
            case TokenState.ROTATED:
                times = (
                    relative_time(token.rotated_at),
                    relative_time(token.expires_at),
                )
                return format_html(
                    gettext(
                        "Rotated {}, and expires {}. Until then, both tokens work."
                    ),
                    *times,
                )
        scope = (
            gettext("It can only read.")
            if token.read_only
            else gettext("It can read and write.")
        )
        if token.state == TokenState.EXPIRING:
            return format_html(
                gettext("Expires {}. {}"), relative_time(token.expires_at), scope
            )
        return format_html(gettext("The token works. {}"), scope)

    @admin.display(description=_("token"))
    def name_and_hint(self, token: Token) -> str:
        return two_lines(token.name or gettext("Unnamed token"), f"{token.hint}…")

    @admin.display(description=_("state"))
    def badge(self, token: Token) -> str:
        return badge(token.state.value, token.state.label)

    @admin.display(description=_("access"), ordering="read_only")
    def access(self, token: Token) -> str:
        return gettext("Read") if token.read_only else gettext("Read, write")

    @admin.display(description=_("expires"), ordering="expires_at")
    def expires(self, token: Token) -> str:
        return relative_time(token.expires_at) or gettext("Never")

    @admin.display(description=_("last used"), ordering="last_used_at")
    def last_used(self, token: Token) -> str:
        return relative_time(token.last_used_at) or gettext("Never")

    # Actions

    def has_revoke_permission(self, request: HttpRequest) -> bool:
        return request.user.has_perm(
            f"{self.opts.app_label}.{get_permission_codename('revoke', self.opts)}"
        )

    def has_rotate_permission(self, request: HttpRequest) -> bool:
        return self.has_add_permission(request) and self.has_revoke_permission(request)

    def get_buttons(
        self, request: HttpRequest, obj: Token
    ) -> list[tuple[str, str | Promise]]:
        available = {
            "revoke": obj.is_active,
            "rotate": obj.is_active and obj.rotated_at is None,
        }
        return [
            (name, label)
            for name, label in super().get_buttons(request, obj)
            if available.get(name, True)
        ]

    @admin.action(
        description=_("Revoke selected %(verbose_name_plural)s"),
        permissions=["revoke"],
    )
    @requires_confirmation(
        _("Revoke %(rows)s"),
        _(
            "Requests with a revoked token are rejected immediately. This cannot be "
            "undone."
        ),
    )
    def revoke(self, request: HttpRequest, queryset: Any) -> str:
        tokens = list(queryset)
        revoked = queryset.revoke()
        log_rows(
            request.user,
            CHANGE,
            [(token, gettext_noop("Revoked.")) for token in revoked],
        )
        text = gettext("Revoked: %(revoked)s. Already revoked: %(others)s.")
        return text % {
            "revoked": intcomma(len(revoked)),
            "others": intcomma(len(tokens) - len(revoked)),
        }

    @admin.action(
        description=_("Rotate selected %(verbose_name_plural)s"),
        permissions=["rotate"],
    )
    @requires_confirmation(
        _("Rotate %(rows)s"),
        _(
            "Each token gets a successor with the same name and permissions. Its "
            "secret is shown once."
        ),
        GraceForm,
    )
    def rotate(
        self, request: HttpRequest, queryset: Any, grace: timedelta
    ) -> HttpResponse | str:
        issued: list[tuple[Token, Token, str]] = queryset.rotate(grace)
        if not issued:
            return gettext(
                "Only active tokens without a successor can be rotated. Nothing was "
                "changed."
            )
        message, message_of_new = (
            gettext_noop("Rotated. Successor"),
            gettext_noop("Successor of"),
        )
        log_rows(
            request.user,
            CHANGE,
            [(old, f"{message}: {new.hint}…") for old, new, _secret in issued],
        )
        log_rows(
            request.user,
            ADDITION,
            [(new, f"{message_of_new}: {old.hint}…") for old, new, _secret in issued],
        )
        return self.show_secrets(
            request, [(new, secret, old) for old, new, secret in issued]
        )

    def details(self, row: Token) -> list[Any]:
        """Return the owner, the access, the state, the expiry and the last use
        of the token.
        """
        owner = [getattr(row, name) for name in self.owner_fields]
        expires = format_html("{}: {}", gettext("expires"), self.expires(row))
        used = format_html("{}: {}", gettext("last used"), self.last_used(row))
        return [
            *owner,
            self.access(row),
            row.state.label,
            expires,
            used,
            row.last_used_address,
            row.last_used_agent,
        ]

    # Find. It finds tokens in any state, also revoked and expired ones.

    @property
    def secret_prefix(self) -> str:  # type: ignore[override]
        return str(self.model.prefix)

    def with_secrets(self, secrets: Sequence[str]) -> Q:
        digests = [secret_format.digest(secret) for secret in secrets]
        cut_off = [
            secret
            for secret in secrets
            if not secret_format.is_well_formed(secret, self.secret_prefix)
        ]
        return Q(digest__in=digests) | Q(hint__in=map(secret_format.hint, cut_off))

    def matching(self, text: str, lookup: str) -> Q:
        """Also match the token's id in the API, and the beginning of its
        secret anywhere in the text.
        """
        condition = super().matching(text, lookup)
        if re.fullmatch("[0-9a-f]{64}", text):
            condition |= Q(digest=bytes.fromhex(text))
        return condition | Q(hint__in=secret_format.hints_in(text, self.secret_prefix))
