from django.apps import AppConfig
from django.core.exceptions import ValidationError
from django.utils import timezone
from rest_framework.permissions import BasePermission

from bookmarks import web_url


class DuringTheDay(BasePermission):
    message = "Bookmarks rest at night."
    code = "at_night"

    def has_permission(self, request, view):
        return 7 <= timezone.localtime().hour < 22


def refuse_hosts(url):
    if web_url.host(url) == "refused.example":
        raise ValidationError("This host is refused.", code="refused_host")


class NotesConfig(AppConfig):
    name = "notes"

    def ready(self):
        from bookmarks import views
        from bookmarks.models import Bookmark

        from .views import RatedBookmarkSerializer

        api_view = views.BookmarkAPIView
        api_view.serializer_class = RatedBookmarkSerializer
        api_view.permission_classes = [*api_view.permission_classes, DuringTheDay]
        Bookmark._meta.get_field("url").validators.append(refuse_hosts)
