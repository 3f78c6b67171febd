"""The admin of the operators' accounts and their roles."""

from collections.abc import Sequence
from typing import Any

from django import forms
from django.contrib import admin
from django.contrib.admin.models import LogEntry
from django.contrib.auth.admin import GroupAdmin, UserAdmin
from django.contrib.auth.forms import UserCreationForm
from django.contrib.auth.models import Group, Permission, User
from django.db.models import ManyToManyField, QuerySet
from django.http import HttpRequest
from django.utils.html import format_html
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from usergroups.admin_tools.findable import FindableAdmin
from usergroups.admin_tools.history import HistoryAdmin
from usergroups.admin_tools.lists import OperatorListAdmin
from usergroups.admin_tools.pages import M, admin_url

admin.site.unregister([User, Group])


class PermissionsAdmin(HistoryAdmin[M], OperatorListAdmin[M]):
    """An admin with a list like those of the apps, and with check boxes for
    roles and permissions.
    """

    filter_horizontal = ()

    # Operators who can change accounts or roles can give themselves all
    # permissions. Therefore only superusers can, whatever the permissions of
    # other operators are.

    def has_add_permission(self, request: HttpRequest) -> bool:
        return request.user.is_superuser

    def has_change_permission(self, request: HttpRequest, obj: M | None = None) -> bool:
        return request.user.is_superuser

    def formfield_for_manytomany(
        self,
        db_field: "ManyToManyField[Any, Any]",
        request: Any = None,
        **kwargs: Any,
    ) -> Any:
        kwargs["widget"] = forms.CheckboxSelectMultiple
        if db_field.related_model is Permission:
            kwargs["queryset"] = Permission.objects.select_related("content_type")
        return super().formfield_for_manytomany(db_field, request, **kwargs)


@admin.register(Group)
class RoleAdmin(PermissionsAdmin[Group], GroupAdmin):
    list_title = _("Roles")


# Fields on the page of an account
ACCOUNT = ("username", "first_name", "email", "groups")
RIGHTS = ("is_staff", "is_superuser", "user_permissions")


@admin.register(User)
class AccountAdmin(
    FindableAdmin[User],
    PermissionsAdmin[User],
    UserAdmin,  # type: ignore[type-arg]
):
    """Django's admin of users, which first shows what an operator needs: a
    name, an e-mail address and the role.
    """

    add_form = UserCreationForm  # The password is required.
    add_form_template = None  # Django's says that more fields follow.
    list_display = (
        "username",
        "first_name",
        "email",
        "role",
        "is_active",
        "last_login",
    )
    list_filter = ("groups", "is_active")
    find_fields = ("username", "email", "first_name", "last_name")
    readonly_fields = ("password_link", "last_login", "date_joined")
    fieldsets = (
        (None, {"fields": (*ACCOUNT, "is_active", "password_link")}),
        (
            _("Advanced"),
            {
                "classes": ("collapse",),
                "fields": (*RIGHTS, "last_login", "date_joined"),
            },
        ),
    )
    add_fieldsets = (
        (None, {"fields": (*ACCOUNT, "password1", "password2")}),
        (_("Advanced"), {"classes": ("collapse",), "fields": RIGHTS}),
    )

    def get_queryset(self, request: HttpRequest) -> QuerySet[User]:
        return super().get_queryset(request).prefetch_related("groups")

    def get_deleted_objects(
        self, objs: QuerySet[User] | Sequence[User], request: HttpRequest
    ) -> Any:
        """Refuse to delete accounts that have made changes, which nobody may
        delete.

        Django would come to the same result after it has rendered each change:
        3 s for 900 of them.
        """
        if LogEntry.objects.filter(user__in=list(objs)).exists():
            return [], {}, {str(LogEntry._meta.verbose_name)}, []
        return super().get_deleted_objects(objs, request)

    def details(self, row: User) -> list[object]:
        return [row.get_full_name(), row.email]

    @admin.display(description=_("role"))
    def role(self, user: User) -> str:
        return ", ".join(group.name for group in user.groups.all())

    @admin.display(description=_("Password"))
    def password_link(self, user: User) -> str:
        url = admin_url(self.admin_site, self.opts, "password_change", user.pk)
        return format_html(
            '<a class="button" href="{}">{}</a>', url, gettext("Set a new password")
        )

    def get_changeform_initial_data(self, request: HttpRequest) -> dict[str, Any]:
        return {"is_staff": True, **super().get_changeform_initial_data(request)}

    def get_form(
        self,
        request: HttpRequest,
        obj: User | None = None,
        change: bool = False,
        **kwargs: Any,
    ) -> "type[forms.ModelForm[User]]":
        kwargs["labels"] = {"first_name": _("Name"), "groups": _("Role")}
        help_text = _("Without a role, the account cannot view anything.")
        kwargs["help_texts"] = {"groups": help_text}
        return super().get_form(request, obj, change=change, **kwargs)
