"""The forms and filters of the admin of tokens."""

from datetime import datetime, timedelta
from typing import Any

from django import forms
from django.contrib import admin
from django.core.exceptions import ValidationError
from django.http import HttpRequest
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from usergroups.admin_tools.forms import OperatorForm

from .models import TokenState

LIFETIMES = [("30", _("30 days")), ("90", _("90 days")), ("365", _("365 days")), ("", _("No expiry"))]

INACTIVE = {
    TokenState.EXPIRED: _("The token has expired. Issue a new one."),
    TokenState.REVOKED: _("The token is revoked. Issue a new one."),
}
"""Why the expiry of a token cannot be changed."""


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


class NewTokenForm(OperatorForm):
    """A new token, with a lifetime."""

    lifetime = forms.ChoiceField(
        label=_("Lifetime"),
        choices=LIFETIMES,
        initial="90",
        required=False,
        help_text=_("Calls with an expired token get 401. The expiry can be changed later."),
    )

    def clean(self) -> None:
        super().clean()
        if days := self.cleaned_data.get("lifetime"):
            self.instance.expires_at = timezone.now() + timedelta(days=int(days))  # type: ignore[attr-defined]


class TokenForm(OperatorForm):
    """Refuse an expiry in the past, one that revives an expired token, and one that prolongs a grace period."""

    instance: Any

    def clean_expires_at(self) -> datetime | None:
        if "expires_at" not in self.changed_data:
            return self.instance.expires_at  # type: ignore[no-any-return]  # with the fraction of the second
        if self.instance.state in INACTIVE:
            raise ValidationError(INACTIVE[self.instance.state])
        expires_at: datetime | None = self.cleaned_data["expires_at"]
        if expires_at and expires_at <= timezone.now():
            raise ValidationError(_("Enter a time in the future."))
        current = self.instance.expires_at
        if self.instance.rotated_at and current and (expires_at is None or expires_at > current):
            raise ValidationError(_("A rotated token can only expire earlier."))
        return expires_at


class TokenStateFilter(admin.SimpleListFilter):
    title = _("state")
    parameter_name = "state"

    def lookups(self, request: HttpRequest, model_admin: Any) -> Any:
        return TokenState.choices

    def queryset(self, request: HttpRequest, queryset: Any) -> Any:
        return queryset.in_state(self.value()) if self.value() in TokenState.values else queryset


class TokenUseFilter(admin.SimpleListFilter):
    title = _("use")
    parameter_name = "use"

    def lookups(self, request: HttpRequest, model_admin: Any) -> Any:
        return [("unused", _("Not used for 90 days"))]

    def queryset(self, request: HttpRequest, queryset: Any) -> Any:
        return queryset.unused() if self.value() == "unused" else queryset
