"""The admin of any token: its secret is shown once, on the page that answers its creation."""

from typing import TYPE_CHECKING, Any, ClassVar

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.utils.cache import add_never_cache_headers

from .models import Token

if TYPE_CHECKING:
    ModelAdmin = admin.ModelAdmin[Token]
else:
    ModelAdmin = admin.ModelAdmin


class TokenStateFilter(admin.SimpleListFilter):
    title = "state"
    parameter_name = "state"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [("active", "Active"), ("ended", "Expired or revoked")]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Token]) -> QuerySet[Token]:
        active = queryset.model.objects.active()
        match self.value():
            case "active":
                return queryset.filter(pk__in=active)
            case "ended":
                return queryset.exclude(pk__in=active)
        return queryset


class TokenAdmin(ModelAdmin):
    """What a token may do and for whom is settled when it is made; later only its name and its end can change."""

    owner_fields: ClassVar[tuple[str, ...]]
    """The fields that tell whom the token speaks for."""

    list_filter: ClassVar[Any] = (TokenStateFilter, "read_only")
    actions = ("revoke",)

    def get_list_display(self, request: HttpRequest) -> tuple[str, ...]:
        return ("__str__", *self.owner_fields, "read_only", "active", "expires_at", "last_used_at")

    def get_fields(self, request: HttpRequest, obj: Token | None = None) -> tuple[str, ...]:
        settled = (*self.owner_fields, "read_only")
        if obj is None:
            return (*settled, "name", "expires_at")
        return ("name", "expires_at", *settled, "hint", "created_at", "last_used_at", "revoked_at")

    def get_readonly_fields(self, request: HttpRequest, obj: Token | None = None) -> tuple[str, ...]:
        return self.get_fields(request, obj)[2:] if obj else ()

    @admin.display(boolean=True)
    def active(self, token: Token) -> bool:
        return token.is_active

    @admin.action(description="Revoke the selected tokens", permissions=["change"])
    def revoke(self, request: HttpRequest, queryset: QuerySet[Token]) -> None:
        for token in queryset:
            token.revoke()
            self.log_change(request, token, "Revoked.")

    def add_view(
        self, request: HttpRequest, form_url: str = "", extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        # The next page shows the secret, whichever button was pressed; so there is only one.
        context = {**(extra_context or {}), "show_save_and_add_another": False, "show_save_and_continue": False}
        return super().add_view(request, form_url, context)

    def save_model(self, request: HttpRequest, obj: Token, form: Any, change: bool) -> None:
        if change:
            obj.save(update_fields=form.changed_data)  # a revocation since the form was shown stands
            return
        request.issued_secret = obj.assign_secret()  # type: ignore[attr-defined]
        obj.save()

    def response_add(self, request: HttpRequest, obj: Token, post_url_continue: str | None = None) -> HttpResponse:
        """Show the secret in the answer itself: messages would keep it in a cookie or in the session."""
        context = {
            **self.admin_site.each_context(request),
            "opts": self.opts,
            "title": f"{self.opts.verbose_name} issued",
            "secret": request.issued_secret,  # type: ignore[attr-defined]
        }
        response = TemplateResponse(request, "usergroups/token_issued.html", context)
        add_never_cache_headers(response)
        return response
