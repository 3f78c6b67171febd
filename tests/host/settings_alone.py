"""The host project of settings.py with usergroups and without bookmarks."""

from tests.host.settings import *  # noqa: F403
from tests.host.settings import INSTALLED_APPS

INSTALLED_APPS = [
    app for app in INSTALLED_APPS if app not in ("bookmarks", "tests.host.notes")
]
AUTH_USER_MODEL = "auth.User"
DATABASE_ROUTERS = []  # The replica of a test run stays empty.
