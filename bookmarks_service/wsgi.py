"""The WSGI entry point: ``bookmarks_service.wsgi:application``."""

import os

from django.core.wsgi import get_wsgi_application

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "bookmarks_service.settings")

application = get_wsgi_application()
