"""The host with an admin and a read replica, which is a separate database that receives no changes."""

from tests.host.settings_admin import *  # noqa: F403
from tests.host.settings_admin import DATABASES

DATABASES["replica"] = {**DATABASES["default"]}  # SQLite in memory, by alias
DATABASE_ROUTERS = ["tests.host.replica.router.ReplicaRouter"]
