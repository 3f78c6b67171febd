"""The base class of the admin of tokens, with its forms and its filter."""

import re
from collections.abc import Sequence
from datetime import timedelta
from typing import Any, ClassVar, TypeVar

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

from usergroups.admin_tools.cells import badge, relative_time, two_lines
from usergroups.admin_tools.confirmations import (
    ConfirmationForm,
    requires_confirmation,
)
from usergroups.admin_tools.forms import OperatorForm
from usergroups.admin_tools.history import log_rows
from usergroups.admin_tools.operator_admin import OperatorAdmin

from . import secret_format
from .models import MAX_ACTIVE_TOKENS, Token, TokenState

T = TypeVar("T", bound=Token)


class GraceForm(ConfirmationForm):
    """The grace period during which a rotated token still works."""

    grace = forms.TypedChoiceField(
        label=_("Old token expires"),
        # hours
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
        # days
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
            number = intcomma(MAX_ACTIVE_TOKENS)
            self.add_error(model.owner_field, text % {"number": number})
        days = self.cleaned_data.get("lifetime")
        if days:
            self.instance.expires_at = timezone.now() + timedelta(days=int(days))


class TokenStateFilter(admin.SimpleListFilter):
    title = _("state")
    parameter_name = "state"

    def lookups(self, request: HttpRequest, model_admin: object) -> Any:
        return [*TokenState.choices, ("unused", _("Not used for 90 days"))]

    def queryset(self, request: HttpRequest, queryset: Any) -> Any:
        value = self.value()
        if value == "unused":
            return queryset.unused()
        if value in TokenState.values:
            return queryset.in_state(value)
        return queryset


class TokenAdmin(OperatorAdmin[T]):
    """An admin that issues, rotates and revokes tokens.

    Only the name of a token can be edited.
    """

    owner_form_fields: ClassVar[tuple[str, ...]]
    """The form fields that identify the owner of the token."""
    owner_columns: ClassVar[tuple[str, ...]] = ()
    """The columns of the list that show the owner, by default the
    ``owner_form_fields``.
    """

    list_filter: ClassVar[Any] = (TokenStateFilter, "read_only")
    actions = ("rotate", "revoke", "delete_selected")
    object_actions = {"rotate": _("Rotate"), "revoke": _("Revoke")}
    find_fields = ("name", "hint")

    # Forms

    def get_form(
        self,
        request: HttpRequest,
        obj: T | None = None,
        change: bool = False,
        **kwargs: Any,
    ) -> Any:
        kwargs.setdefault("form", OperatorForm if change else NewTokenForm)
        return super().get_form(request, obj, change, **kwargs)

    def get_fields(self, request: HttpRequest, obj: T | None = None) -> tuple[str, ...]:
        if obj is None:
            return ("name", *self.owner_form_fields, "read_only", "lifetime")
        fields = ("name", "expires", *self.owner_form_fields, "access", "created_at")
        if obj.last_used_at is None:
            return fields
        return (*fields, "last_used", "last_used_address", "last_used_agent")

    def get_readonly_fields(
        self, request: HttpRequest, obj: T | None = None
    ) -> tuple[str, ...]:
        if obj is None:
            return ()
        return tuple(name for name in self.get_fields(request, obj) if name != "name")

    def save_model(
        self, request: HttpRequest, obj: Any, form: Any, change: bool
    ) -> None:
        if not change:
            # response_add() shows it.
            request.issued_secret = obj.assign_secret()  # type: ignore[attr-defined]
        super().save_model(request, obj, form, change)

    def response_add(
        self, request: Any, obj: T, post_url_continue: str | None = None
    ) -> HttpResponse:
        return self.show_secrets(request, [(obj, request.issued_secret, None)])

    def show_secrets(
        self, request: HttpRequest, issued: Sequence[tuple[T, str, T | None]]
    ) -> HttpResponse:
        """Show new tokens with their secrets, which no other response
        contains, and with the token that each replaces, if any.
        """
        name = self.opts.verbose_name_plural
        if len(issued) == 1:
            name = self.opts.verbose_name
        title = capfirst(gettext("%(name)s issued") % {"name": name})
        text = gettext(
            "A secret is shown only now: copy it and store it securely. If you lose "
            "it, rotate the token."
        )
        return self.render_secrets(request, title, text, issued)

    # Lists

    def get_list_display(self, request: HttpRequest) -> Any:
        owner = self.owner_columns or self.owner_form_fields
        return ("name_and_hint", *owner, "badge", "access", "expires", "last_used")

    # The page of a token

    def render_change_form(
        self,
        request: HttpRequest,
        context: dict[str, Any],
        *args: Any,
        **kwargs: Any,
    ) -> HttpResponse:
        token = context.get("original")
        # Saving a new token shows its secret instead of the form again.
        context["show_save_and_continue"] = token is not None
        if token is not None:
            context["sentence"] = self.sentence(token)
            if not token.is_active and self.has_add_permission(request):
                context["new_url"] = self.url_of_similar(token)
        return super().render_change_form(request, context, *args, **kwargs)

    def url_of_similar(self, token: T) -> str:
        """Return the URL of the form for a new token, with the name, owner and
        access of this one filled in.
        """
        names = ("name", *self.owner_form_fields, "read_only")
        values = {name: token.serializable_value(name) for name in names}
        query = urlencode({name: value for name, value in values.items() if value})
        return f"{self.url_of('add')}?{query}"

    def sentence(self, token: T) -> str:
        """Return the sentence at the top of the token's page: its state, and
        what that means for calls.
        """
        revoked = relative_time(token.revoked_at)
        rotated = relative_time(token.rotated_at)
        expires = relative_time(token.expires_at)
        if token.read_only:
            scope = gettext("It can only read.")
        else:
            scope = gettext("It can read and write.")
        match token.state:
            case TokenState.REVOKED:
                return format_html(gettext("Revoked {}. Calls get 401."), revoked)
            case TokenState.EXPIRED:
                return format_html(gettext("Expired {}. Calls get 401."), expires)
            case TokenState.ROTATED:
                text = gettext(
                    "Rotated {}, and expires {}. Until then, both tokens work."
                )
                return format_html(text, rotated, expires)
            case TokenState.EXPIRING:
                return format_html(gettext("Expires {}. {}"), expires, scope)
            case _:
                return format_html(gettext("The token works. {}"), scope)

    @admin.display(description=_("token"))
    def name_and_hint(self, token: T) -> str:
        return two_lines(token.name or gettext("Unnamed token"), f"{token.hint}…")

    @admin.display(description=_("state"))
    def badge(self, token: T) -> str:
        return badge(token.state.value, str(token.state.label))

    @admin.display(description=_("access"), ordering="read_only")
    def access(self, token: T) -> str:
        return gettext("Read") if token.read_only else gettext("Read, write")

    @admin.display(description=_("expires"), ordering="expires_at")
    def expires(self, token: T) -> str:
        return relative_time(token.expires_at) or gettext("Never")

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
        unavailable = set()
        if not obj.is_active:
            unavailable |= {"revoke", "rotate"}
        if obj.rotated_at is not None:
            unavailable.add("rotate")
        return [
            (action, label)
            for action, label in super().get_buttons(request, obj)
            if action not in unavailable
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
        message = gettext_noop("Revoked.")
        log_rows(request.user, CHANGE, [(token, message) for token in revoked])
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
        issued: list[tuple[T, T, str]] = queryset.rotate(grace)
        if not issued:
            return gettext(
                "Only active tokens without a successor can be rotated. Nothing was "
                "changed."
            )
        of_old = gettext_noop("Rotated. Successor")
        of_new = gettext_noop("Successor of")
        old_messages = [(old, f"{of_old}: {new.hint}…") for old, new, _secret in issued]
        new_messages = [(new, f"{of_new}: {old.hint}…") for old, new, _secret in issued]
        log_rows(request.user, CHANGE, old_messages)
        log_rows(request.user, ADDITION, new_messages)
        secrets = [(new, secret, old) for old, new, secret in issued]
        return self.show_secrets(request, secrets)

    def details(self, row: T) -> list[Any]:
        """Return the owner, the access, the state, the expiry and the last use
        of the token.
        """
        owner = [getattr(row, name) for name in self.owner_form_fields]
        return [
            *owner,
            self.access(row),
            row.state.label,
            format_html("{}: {}", gettext("expires"), self.expires(row)),
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
        digests = [secret_format.digest(secret) for secret in secrets]
        hints = [
            secret_format.hint(secret)
            for secret in secrets
            if not secret_format.is_well_formed(secret, self.secret_prefix)
        ]
        return Q(digest__in=digests) | Q(hint__in=hints)

    def text_condition(self, text: str, lookup: str) -> Q:
        """Also match the token's id in the API, and the beginning of its
        secret anywhere in the text.
        """
        condition = super().text_condition(text, lookup)
        # Token.public_id is the digest in hexadecimal.
        if re.fullmatch("[0-9a-f]{64}", text):
            condition |= Q(digest=bytes.fromhex(text))
        hints = secret_format.hints_in(text, self.secret_prefix)
        return condition | Q(hint__in=hints)
