"""The forms of the admin of tokens."""

from datetime import timedelta
from typing import Any

from django import forms
from django.contrib.humanize.templatetags.humanize import intcomma
from django.utils import timezone
from django.utils.translation import gettext, ngettext
from django.utils.translation import gettext_lazy as _

from usergroups.admin_tools.confirmations import ConfirmationForm
from usergroups.admin_tools.forms import OperatorForm

from .models import MAX_ACTIVE_TOKENS, Token


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


class RevocationForm(ConfirmationForm):
    """Whether to revoke the tokens that replaced the revoked ones as well."""

    successors = forms.BooleanField(required=False)

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        keys = {row.pk for row in self.rows}
        tokens: Any = self.model_admin.get_queryset(self.request)
        origin_keys = tokens.filter(pk__in=keys).origin_keys_of_descendants()
        descendants = origin_keys.keys() - keys
        number = tokens.filter(pk__in=descendants).active().count()
        if not number:
            del self.fields["successors"]
            return
        text = ngettext(
            "Also revoke %(number)s active successor. Do so if a secret has leaked.",
            "Also revoke %(number)s active successors. Do so if a secret has leaked.",
            number,
        )
        self.fields["successors"].label = text % {"number": intcomma(number)}


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
        """Refuse one token too many, and set the expiry by the lifetime."""
        super().clean()
        model: type[Token] = self._meta.model
        owner = self.cleaned_data.get(model.owner_field)
        if owner is not None:
            # The admin checks the form and saves the token in one transaction.
            tokens = model.objects.for_write()
            tokens.lock_owners([owner])
            if tokens.count_active([owner])[owner.pk] >= MAX_ACTIVE_TOKENS:
                text = gettext(
                    "There are already %(number)s active tokens. Revoke some of them "
                    "first."
                )
                number = intcomma(MAX_ACTIVE_TOKENS)
                self.add_error(model.owner_field, text % {"number": number})
        days = self.cleaned_data.get("lifetime")
        if days:
            self.instance.expires_at = timezone.now() + timedelta(days=int(days))
