from django.contrib import admin
from unfold.admin import ModelAdmin

from bookmarks.models import AccessToken, Bookmark, Collection
from usergroups.models import ApiToken, Team, UserGroup

for model in (Team, UserGroup, ApiToken, AccessToken, Collection, Bookmark):
    model_admin = type(admin.site.get_model_admin(model))
    admin.site.unregister(model)
    admin.site.register(model, type("HostAdmin", (model_admin, ModelAdmin), {}))
