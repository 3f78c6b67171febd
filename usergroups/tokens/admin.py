"""The base class of the admin of tokens. A secret is shown once, in the response to the POST that creates it."""

from datetime import datetime, timedelta
from typing import Any, ClassVar

from django import forms
from django.contrib import admin
from django.contrib.auth import get_permission_codename
from django.contrib.humanize.templatetags.humanize import intcomma
from django.core.exceptions import ValidationError
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.utils import timezone
from django.utils.functional import Promise
from django.utils.html import format_html
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from usergroups.admin_tools.base import OperatorAdmin
from usergroups.admin_tools.confirmation import requires_confirmation
from usergroups.admin_tools.relative_time import relative_time

from .admin_filters import TokenStateFilter, TokenUseFilter
from .models import Token

LIFECYCLE_FIELDS = ("created_at", "last_used_at", "rotated_at", "revoked_at")


class GraceForm(forms.Form):
    """The grace period during which a rotated token still works."""

    grace = forms.TypedChoiceField(
        label=_("Old token expires"),
        choices=[
            (0, _("at once")),
            (1, _("after 1 hour")),
            (24, _("after 1 day")),
            (168, _("after 7 days")),
            (720, _("after 30 days")),
        ],
        initial=24,
        coerce=lambda hours: timedelta(hours=int(hours)),
        help_text=_("A grace period gives applications time to switch to the new token."),
    )


def validate_future(at: datetime) -> None:
    """Raise ValidationError if the time has passed."""
    if at <= timezone.now():
        raise ValidationError(_("Enter a time in the future."))


class TokenAdmin(OperatorAdmin):
    """An admin that issues, rotates and revokes tokens. Only the name and the expiry of a token can be edited."""

    owner_fields: ClassVar[tuple[str, ...]]
    """The fields that identify the owner of the token."""

    list_filter: ClassVar[Any] = (TokenStateFilter, TokenUseFilter, "read_only")
    actions = ("rotate", "revoke", "delete_selected")
    object_actions = {"rotate": _("Rotate"), "revoke": _("Revoke")}

    def get_list_display(self, request: HttpRequest) -> tuple[str, ...]:
        return ("__str__", *self.owner_fields, "badge", "access", "expires", "last_used")

    def get_fields(self, request: HttpRequest, obj: Token | None = None) -> tuple[str, ...]:
        fixed = (*self.owner_fields, "read_only")
        if obj is None:
            return (*fixed, "name", "expires_at")
        return ("name", "expires_at", *fixed, "badge", "hint", *LIFECYCLE_FIELDS)

    def get_readonly_fields(self, request: HttpRequest, obj: Token | None = None) -> tuple[str, ...]:
        return self.get_fields(request, obj)[2:] if obj else ()

    @admin.display(description=_("state"))
    def badge(self, token: Token) -> str:
        return format_html('<span class="badge {}">{}</span>', token.state.value, token.state.label)

    @admin.display(description=_("access"), ordering="read_only")
    def access(self, token: Token) -> str:
        return gettext("Read") if token.read_only else gettext("Read, write")

    @admin.display(description=_("expires"), ordering="expires_at")
    def expires(self, token: Token) -> str | None:
        return relative_time(token.expires_at)

    @admin.display(description=_("last used"), ordering="last_used_at")
    def last_used(self, token: Token) -> str | None:
        return relative_time(token.last_used_at)

    def has_revoke_permission(self, request: HttpRequest) -> bool:
        return request.user.has_perm(f"{self.opts.app_label}.{get_permission_codename('revoke', self.opts)}")

    def has_rotate_permission(self, request: HttpRequest) -> bool:
        return self.has_add_permission(request) and self.has_revoke_permission(request)

    def get_buttons(self, request: HttpRequest, obj: Token) -> list[tuple[str, str | Promise]]:
        available = {"revoke": obj.is_active, "rotate": obj.is_active and obj.rotated_at is None}
        return [button for button in super().get_buttons(request, obj) if available[button[0]]]

    @admin.action(description=_("Revoke selected %(verbose_name_plural)s"), permissions=["revoke"])
    @requires_confirmation(
        _("Revoke %(rows)s"), _("Requests with a revoked token are rejected immediately. This cannot be undone.")
    )
    def revoke(self, request: HttpRequest, queryset: QuerySet[Token]) -> str:
        tokens = queryset.filter(revoked_at=None)
        for token in tokens:
            token.revoke()
            self.log_change(request, token, "Revoked.")
        text = gettext("Revoked: %(revoked)s. Already revoked: %(others)s.")
        return text % {"revoked": intcomma(len(tokens)), "others": intcomma(len(queryset) - len(tokens))}

    @admin.action(description=_("Rotate selected %(verbose_name_plural)s"), permissions=["rotate"])
    @requires_confirmation(
        _("Rotate %(rows)s"),
        _("Each token gets a successor with the same name and permissions. Its secret is shown once."),
        GraceForm,
    )
    def rotate(self, request: HttpRequest, queryset: Any, grace: timedelta) -> HttpResponse | str:
        issued = []
        for token in queryset.rotatable():
            successor, secret = token.rotate(grace)
            self.log_change(request, token, f"Rotated. Its successor is {successor.hint}…")
            self.log_addition(request, successor, f"Issued as the successor of {token.hint}…")
            issued.append((successor, secret))
        return (
            self.show_secrets(request, issued)
            if issued
            else gettext("Only active tokens without a successor can be rotated. Nothing was changed.")
        )

    def add_view(self, request: HttpRequest, form_url: str = "", extra_context: Any = None) -> HttpResponse:
        # The next page always shows the secret, so the other buttons would have no effect.
        context = {**(extra_context or {}), "show_save_and_add_another": False, "show_save_and_continue": False}
        return super().add_view(request, form_url, context)

    def get_form(self, request: HttpRequest, obj: Any = None, change: bool = False, **kwargs: Any) -> Any:
        form = super().get_form(request, obj, change, **kwargs)
        if not change:
            form.base_fields["expires_at"].validators.append(validate_future)
        return form

    def save_model(self, request: HttpRequest, obj: Any, form: Any, change: bool) -> None:
        if not change:
            request.issued_secret = obj.assign_secret()  # type: ignore[attr-defined]
        super().save_model(request, obj, form, change)

    def construct_change_message(self, request: HttpRequest, form: Any, formsets: Any, add: bool = False) -> Any:
        return "Issued." if add else super().construct_change_message(request, form, formsets, add)

    def response_add(self, request: HttpRequest, obj: Token, post_url_continue: str | None = None) -> HttpResponse:
        return self.show_secrets(request, [(obj, request.issued_secret)])  # type: ignore[attr-defined]

    def show_secrets(self, request: HttpRequest, issued: list[tuple[Token, str]]) -> HttpResponse:
        """Show the secrets in the response itself, because messages are stored in a cookie or in the session."""
        name = self.opts.verbose_name if len(issued) == 1 else self.opts.verbose_name_plural
        title = gettext("%(name)s issued") % {"name": name}
        return self.render_page(request, "usergroups/admin/tokens_issued.html", title, issued=issued)
