"""The host project of settings.py, where ``usergroups`` and ``bookmarks`` have
the labels ``teams`` and ``links``.
"""

from tests.host.settings import *  # noqa: F403
from tests.host.settings import INSTALLED_APPS

LABELLED = {
    "usergroups": "tests.host.components.TeamsConfig",
    "bookmarks": "tests.host.components.LinksConfig",
}
INSTALLED_APPS = [
    LABELLED.get(app, app) for app in INSTALLED_APPS if app != "tests.host.notes"
]
AUTH_USER_MODEL = "auth.User"
