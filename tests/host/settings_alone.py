"""The same host with usergroups and without bookmarks."""

from tests.host.settings import *  # noqa: F403
from tests.host.settings import INSTALLED_APPS

INSTALLED_APPS = [app for app in INSTALLED_APPS if app != "bookmarks"]
ROOT_URLCONF = "tests.host.urls_alone"
