"""The forms of the admin of tokens."""

from datetime import datetime, time, timedelta
from typing import TYPE_CHECKING, Any

from django import forms
from django.core.exceptions import ValidationError
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from .models import Token
from .querysets import TokenState

if TYPE_CHECKING:
    ModelForm = forms.ModelForm[Token]
else:
    ModelForm = forms.ModelForm


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


class ExpiryField(forms.SplitDateTimeField):
    """A date and a time. Without a time, it is the end of the day."""

    def compress(self, data_list: Any) -> datetime | None:
        if data_list and data_list[0] and data_list[1] in self.empty_values:
            data_list = [data_list[0], time.max]
        return super().compress(data_list)


INACTIVE = {
    TokenState.EXPIRED: _("The token has expired. Issue a new one."),
    TokenState.REVOKED: _("The token is revoked. Issue a new one."),
}
"""Why the expiry of a token cannot be changed."""


class TokenForm(ModelForm):
    """Refuse an expiry in the past, one that revives an expired token, and one that prolongs a grace period."""

    def clean_expires_at(self) -> datetime | None:
        if "expires_at" not in self.changed_data:
            return self.instance.expires_at  # with the fraction of the second, which the inputs do not have
        if self.instance.state in INACTIVE:
            raise ValidationError(INACTIVE[self.instance.state])
        expires_at: datetime | None = self.cleaned_data["expires_at"]
        if expires_at and expires_at <= timezone.now():
            raise ValidationError(_("Enter a time in the future."))
        current = self.instance.expires_at
        if self.instance.rotated_at and current and (expires_at is None or expires_at > current):
            raise ValidationError(_("A rotated token can only expire earlier."))
        return expires_at
