from django.apps import AppConfig
from django.db.backends.signals import connection_created
from django.utils.translation import gettext_lazy as _


class BookmarksConfig(AppConfig):
    name = "bookmarks"
    verbose_name = _("Bookmarks")
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        from . import conf  # noqa: F401, PLC0415  # registers its check
        from .search import create_lower_function  # noqa: PLC0415

        connection_created.connect(create_lower_function)
