"""The base class of the admin of tokens."""

from datetime import timedelta
from typing import Any, ClassVar

from django.contrib import admin
from django.contrib.auth import get_permission_codename
from django.contrib.humanize.templatetags.humanize import intcomma
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.utils.functional import Promise
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from usergroups.admin_tools.confirmation import requires_confirmation
from usergroups.admin_tools.input_labels import label_date_and_time

from .admin_columns import TokenColumnsAdmin
from .admin_filters import TokenStateFilter, TokenUseFilter
from .admin_find import FindableTokenAdmin
from .admin_forms import ExpiryField, GraceForm, TokenForm
from .models import Token

LIFECYCLE_FIELDS = (
    "created_at", "last_used_at", "last_used_address", "last_used_agent", "rotated_at", "successor", "predecessor_link",
    "revoked_at",
)  # fmt: skip


class TokenAdmin(TokenColumnsAdmin, FindableTokenAdmin):
    """An admin that issues, rotates and revokes tokens. Only the name and the expiry of a token can be edited."""

    form = TokenForm
    list_filter: ClassVar[Any] = (TokenStateFilter, TokenUseFilter, "read_only")
    actions = ("rotate", "replace", "revoke", "delete_selected")
    object_actions = {"rotate": _("Rotate"), "replace": _("Revoke and replace"), "revoke": _("Revoke")}

    def get_list_display(self, request: HttpRequest) -> list[Any]:
        owners = dict.fromkeys((*self.owner_fields, *self.owner_columns))
        return self.link_owners(request, ("name_and_hint", *owners, "badge", "access", "expires", "last_used"))

    def get_fields(self, request: HttpRequest, obj: Token | None = None) -> tuple[str, ...]:
        fixed = (*self.owner_fields, "read_only")
        if obj is None:
            return (*fixed, "name", "expires_at")
        return ("name", "expires_at", *fixed, "badge", "hint", *LIFECYCLE_FIELDS)

    def get_readonly_fields(self, request: HttpRequest, obj: Token | None = None) -> tuple[str, ...]:
        if obj is None:
            return ()
        # A form that was opened before the token expired still has the field, and TokenForm refuses a change.
        editable = 2 if obj.is_active or request.method == "POST" else 1
        return self.get_fields(request, obj)[editable:]

    def has_revoke_permission(self, request: HttpRequest) -> bool:
        return request.user.has_perm(f"{self.opts.app_label}.{get_permission_codename('revoke', self.opts)}")

    def has_rotate_permission(self, request: HttpRequest) -> bool:
        return self.has_add_permission(request) and self.has_revoke_permission(request)

    def get_buttons(self, request: HttpRequest, obj: Token) -> list[tuple[str, str | Promise]]:
        can_rotate = obj.is_active and obj.rotated_at is None
        available = {"revoke": obj.is_active, "rotate": can_rotate, "replace": can_rotate}
        return [button for button in super().get_buttons(request, obj) if available[button[0]]]

    @admin.action(description=_("Revoke selected %(verbose_name_plural)s"), permissions=["revoke"])
    @requires_confirmation(
        _("Revoke %(rows)s"), _("Requests with a revoked token are rejected immediately. This cannot be undone.")
    )
    def revoke(self, request: HttpRequest, queryset: QuerySet[Token]) -> str:
        tokens = queryset.filter(revoked_at=None)
        for token in tokens:
            self._revoke(request, token)
        text = gettext("Revoked: %(revoked)s. Already revoked: %(others)s.")
        return text % {"revoked": intcomma(len(tokens)), "others": intcomma(len(queryset) - len(tokens))}

    @admin.action(description=_("Rotate selected %(verbose_name_plural)s"), permissions=["rotate"])
    @requires_confirmation(
        _("Rotate %(rows)s"),
        _("Each token gets a successor with the same name and permissions. Its secret is shown once."),
        GraceForm,
    )
    def rotate(self, request: HttpRequest, queryset: Any, grace: timedelta) -> HttpResponse | str:
        issued = [new for token in queryset.rotatable() if (new := self._rotate(request, token, grace))]
        if not issued:
            return gettext("Only active tokens without a successor can be rotated. Nothing was changed.")
        return self.redirect_to_secrets(request, issued)

    @admin.action(description=_("Revoke and replace selected %(verbose_name_plural)s"), permissions=["rotate"])
    @requires_confirmation(
        _("Revoke and replace %(rows)s"),
        _(
            "Requests with a revoked token are rejected immediately. Each token gets a successor with the same name "
            "and permissions, whose secret is shown once. A token that already has a successor is only revoked. "
            "Expired tokens are not replaced. This cannot be undone."
        ),
    )
    def replace(self, request: HttpRequest, queryset: Any) -> HttpResponse | str:
        active, issued = list(queryset.active()), []
        for token in active:
            if token.rotated_at is None and (successor := self._rotate(request, token, timedelta())):
                issued.append(successor)
            self._revoke(request, token)
        numbers = {"revoked": len(active), "replaced": len(issued), "others": len(queryset) - len(active)}
        text = gettext("Revoked: %(revoked)s. Replaced: %(replaced)s. Already expired or revoked: %(others)s.")
        text %= {name: intcomma(number) for name, number in numbers.items()}
        if not issued:
            return text
        self.message_user(request, text)
        return self.redirect_to_secrets(request, issued)

    def _revoke(self, request: HttpRequest, token: Token) -> None:
        token.revoke()
        self.log_change(request, token, "Revoked.")

    def _rotate(self, request: HttpRequest, token: Token, grace: timedelta) -> Token | None:
        try:
            successor = token.rotate(grace, withheld=True)[0]
        except token.DoesNotExist:  # It has expired since it was selected.
            return None
        self.log_change(request, token, f"Rotated. Its successor is {successor.hint}…")
        self.log_addition(request, successor, f"Issued as the successor of {token.hint}…")
        return successor

    def add_view(self, request: HttpRequest, form_url: str = "", extra_context: Any = None) -> HttpResponse:
        # The next page always shows the secret, so the other buttons would have no effect.
        context = {**(extra_context or {}), "show_save_and_add_another": False, "show_save_and_continue": False}
        return super().add_view(request, form_url, context)

    def formfield_for_dbfield(self, db_field: Any, request: HttpRequest, **kwargs: Any) -> Any:
        if db_field.name != "expires_at":
            return super().formfield_for_dbfield(db_field, request, **kwargs)
        field: Any = super().formfield_for_dbfield(db_field, request, form_class=ExpiryField, **kwargs)
        field.help_text = _("Leave empty if it never expires. Without a time, it expires at the end of the day.")
        label_date_and_time(field)
        return field

    def save_model(self, request: HttpRequest, obj: Any, form: Any, change: bool) -> None:
        if not change:
            obj.withhold_secret()
        super().save_model(request, obj, form, change)

    def construct_change_message(self, request: HttpRequest, form: Any, formsets: Any, add: bool = False) -> Any:
        return "Issued." if add else super().construct_change_message(request, form, formsets, add)

    def response_add(self, request: HttpRequest, obj: Token, post_url_continue: str | None = None) -> HttpResponse:
        return self.redirect_to_secrets(request, [obj])
