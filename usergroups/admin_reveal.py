"""The part of the admin of user groups that shows a user group token, to operators who may see it."""

from django.contrib import admin
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import URLPattern, path
from django.utils.html import format_html
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from .admin_tools.base import OperatorAdmin
from .models import UserGroup

MASKED = "ugt_••••"


class RevealingAdmin(OperatorAdmin):
    """An admin of user groups that masks their tokens. Only the response to a POST, which is logged, shows a token."""

    token_fields = ("masked_token", "revealable_token")

    def get_urls(self) -> list[URLPattern]:
        reveal_view = self.admin_site.admin_view(self.reveal_view)
        name = f"{self.opts.app_label}_{self.opts.model_name}_reveal"
        return [path("<path:key>/reveal/", reveal_view, name=name), *super().get_urls()]

    def has_reveal_permission(self, request: HttpRequest) -> bool:
        return self.has_view_permission(request) and request.user.has_perm(
            f"{self.opts.app_label}.reveal_usergroup_token"
        )

    def token_field(self, request: HttpRequest) -> str:
        """Return the name of the field that shows the masked token, with a button if the user may reveal it."""
        return "revealable_token" if self.has_reveal_permission(request) else "masked_token"

    @admin.display(description=_("user group token"))
    def masked_token(self, user_group: UserGroup) -> str:
        return MASKED

    @admin.display(description=_("user group token"))
    def revealable_token(self, user_group: UserGroup) -> str:
        return format_html(
            '{} <button type="submit" class="button" form="object-actions" formaction="{}">{}</button>',
            MASKED,
            self.url_of("reveal", user_group.pk),
            gettext("Reveal"),
        )

    def reveal_view(self, request: HttpRequest, key: str) -> HttpResponse:
        if not self.has_reveal_permission(request):
            raise PermissionDenied
        if request.method != "POST":  # for example after a login that was necessary in between
            return redirect(self.url_of("change", key))
        user_group = self.get_object(request, key)
        if user_group is None:
            raise Http404
        self.log_change(request, user_group, "Revealed the user group token.")
        title = gettext("User group token")
        return self.render_page(request, "usergroups/admin/user_group_token.html", title, user_group=user_group)
