"""The app configuration that makes OperatorsSite the default admin site."""

from django.contrib.admin.apps import AdminConfig


class OperatorsAdminConfig(AdminConfig):
    default_site = "bookmarks_service.admin_site.OperatorsSite"
