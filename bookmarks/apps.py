from django.apps import AppConfig
from django.utils.translation import gettext_lazy as _


class BookmarksConfig(AppConfig):
    name = "bookmarks"
    verbose_name = _("Bookmarks")
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        from django.urls import register_converter  # noqa: PLC0415
        from rest_framework.serializers import ModelSerializer  # noqa: PLC0415

        from . import checks, serializers, tags  # noqa: F401, PLC0415
        from .path_converters import PublicIdConverter  # noqa: PLC0415

        register_converter(PublicIdConverter, "public_id")
        # A ModelSerializer of a host represents tags as a list, too.
        fields = ModelSerializer.serializer_field_mapping
        fields[tags.TagsField] = serializers.TagsField
