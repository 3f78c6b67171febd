"""The host project of settings.py, where ``usergroups`` and ``bookmarks`` have
the labels ``teams`` and ``links``, and the admin has the theme Unfold.
"""

from tests.host.settings import *  # noqa: F403
from tests.host.settings import INSTALLED_APPS

LABELLED = {
    "usergroups": "tests.host.components.TeamsConfig",
    "bookmarks": "tests.host.components.LinksConfig",
}
INSTALLED_APPS = [
    "unfold",
    *(LABELLED.get(app, app) for app in INSTALLED_APPS if app != "tests.host.notes"),
    "tests.host.themed",
]
AUTH_USER_MODEL = "auth.User"
# A missing icon would be an error.
UNFOLD = {"SITE_FAVICONS": [{"rel": "icon", "href": "data:,"}]}
