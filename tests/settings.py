"""The service's own settings, as far as a test run allows."""

import os

os.environ.setdefault("SECRET_KEY", "not-a-secret")

from bookmarks_service.settings import *  # noqa: F403

PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]  # tests log in often
# Look up a static file when it is requested. Otherwise each new test client lists all files first, for 20 ms.
WHITENOISE_AUTOREFRESH = True
