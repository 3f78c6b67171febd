from django.apps import AppConfig
from django.db.backends.signals import connection_created
from django.db.models.signals import post_save

from usergroups.signals import announce_save


class BookmarksConfig(AppConfig):
    name = "bookmarks"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        from .search import create_casefold_function  # noqa: PLC0415

        connection_created.connect(create_casefold_function)
        for model in self.get_models():
            post_save.connect(announce_save, sender=model)
