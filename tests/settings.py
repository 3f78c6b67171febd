"""The settings of the service, with a few changes for tests."""

import os

os.environ.setdefault("SECRET_KEY", "not-a-secret")
os.environ.setdefault("DATABASE_URL", "sqlite://:memory:")

from bookmarks_service.settings import *  # noqa: F403

# tests log in often
PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
# Without hashes in the names of static files, so that pages do not need the
# collected files.
STORAGES = {
    "default": {"BACKEND": "django.core.files.storage.FileSystemStorage"},
    "staticfiles": {"BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage"},
}
