"""The service's settings with another time limit for locks of SQLite: SQLITE_TIMEOUT in the environment, in seconds."""

import os

from bookmarks_service.settings import *  # noqa: F403
from bookmarks_service.settings import DATABASES

DATABASES["default"]["OPTIONS"]["timeout"] = float(os.environ["SQLITE_TIMEOUT"])
