"""An optional app that distributes the tables of bookmarks over the nodes of Citus."""

from django.apps import AppConfig


class CitusConfig(AppConfig):
    name = "bookmarks.citus"
    label = "bookmarks_citus"

    def ready(self) -> None:
        from . import checks  # noqa: F401, PLC0415
