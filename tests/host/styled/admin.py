from django.contrib import admin
from unfold.admin import ModelAdmin

from bookmarks.admin import AccessTokenAdmin, BookmarkAdmin, CollectionAdmin
from bookmarks.models import AccessToken, Bookmark, Collection
from usergroups.admin import ApiTokenAdmin, TeamAdmin, UserGroupAdmin
from usergroups.models import ApiToken, Team, UserGroup

admin.site.unregister([AccessToken, ApiToken, Bookmark, Collection, Team, UserGroup])


@admin.register(Team)
class HostTeamAdmin(TeamAdmin, ModelAdmin):
    pass


@admin.register(UserGroup)
class HostUserGroupAdmin(UserGroupAdmin, ModelAdmin):
    pass


@admin.register(ApiToken)
class HostApiTokenAdmin(ApiTokenAdmin, ModelAdmin):
    pass


@admin.register(AccessToken)
class HostAccessTokenAdmin(AccessTokenAdmin, ModelAdmin):
    pass


@admin.register(Collection)
class HostCollectionAdmin(CollectionAdmin, ModelAdmin):
    pass


@admin.register(Bookmark)
class HostBookmarkAdmin(BookmarkAdmin, ModelAdmin):
    pass
