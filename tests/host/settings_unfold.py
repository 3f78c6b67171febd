"""The host with Django's admin, shown with Unfold."""

from tests.host.settings_admin import *  # noqa: F403
from tests.host.settings_admin import INSTALLED_APPS

INSTALLED_APPS = ["unfold", *INSTALLED_APPS, "tests.host.styled"]
