from django.contrib import admin
from unfold.admin import ModelAdmin

from usergroups.admin import ApiTokenAdmin, UserGroupAdmin
from usergroups.models import ApiToken, UserGroup

admin.site.unregister([ApiToken, UserGroup])


@admin.register(UserGroup)
class HostUserGroupAdmin(UserGroupAdmin, ModelAdmin):
    pass


@admin.register(ApiToken)
class HostApiTokenAdmin(ApiTokenAdmin, ModelAdmin):
    pass
