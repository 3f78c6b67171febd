"""The host with Django's own admin and other labels of the apps."""

from tests.host.settings_admin import *  # noqa: F403
from tests.host.settings_admin import INSTALLED_APPS as APPS

LABELLED = {
    "usergroups": "tests.host.labelled.apps.TeamsConfig",
    "bookmarks": "tests.host.labelled.apps.LinksConfig",
}
INSTALLED_APPS = [LABELLED.get(app, app) for app in APPS if app != "tests.host.notes"]
