from django.apps import AppConfig


class BookmarksConfig(AppConfig):
    name = "bookmarks"
    default_auto_field = "django.db.models.BigAutoField"
