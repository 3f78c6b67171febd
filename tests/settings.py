"""The service's own settings, as far as a test run allows."""

import os

os.environ.setdefault("SECRET_KEY", "not-a-secret")

from bookmarks_service.settings import *  # noqa: F403

PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]  # tests log in often
# Without the hashes of collected files, so that the tests of pages need none.
STORAGES = {
    "default": {"BACKEND": "django.core.files.storage.FileSystemStorage"},
    "staticfiles": {"BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage"},
}
