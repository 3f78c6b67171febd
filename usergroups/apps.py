"""The app of teams, user groups and API tokens."""

from django.apps import AppConfig
from django.db.models.signals import post_save

from .signals import announce_save


class UserGroupsConfig(AppConfig):
    name = "usergroups"
    verbose_name = "User groups"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        from . import checks  # noqa: F401, PLC0415
        from .tokens import openapi  # noqa: F401, PLC0415

        for model in self.get_models():
            post_save.connect(announce_save, sender=model)
