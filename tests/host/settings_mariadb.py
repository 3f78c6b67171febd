"""The host on a MariaDB server, which the apps do not support."""

import os

import pymysql

from tests.host.settings import *  # noqa: F403

pymysql.version_info = (2, 2, 7, "final", 0)  # the version of mysqlclient that Django asks for
pymysql.install_as_MySQLdb()

DATABASES = {
    "default": {
        "ENGINE": "django.db.backends.mysql",
        "HOST": "127.0.0.1",
        "USER": "root",
        "NAME": os.environ["MARIADB_DATABASE"],
    }
}
