"""The app of teams, user groups and API tokens."""

from django.apps import AppConfig
from django.db.backends.signals import connection_created
from django.utils.translation import gettext_lazy as _


class UserGroupsConfig(AppConfig):
    name = "usergroups"
    verbose_name = _("User groups")
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        # Importing them registers the system checks and the authentication
        # schemes of the OpenAPI document.
        from . import checks  # noqa: F401, PLC0415
        from .db.stored_json import add_function  # noqa: PLC0415
        from .tokens import openapi  # noqa: F401, PLC0415

        connection_created.connect(add_function)
