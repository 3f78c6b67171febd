"""The settings of the application."""

import os

import dj_database_url

SECRET_KEY = os.environ["SECRET_KEY"]
ALLOWED_HOSTS = ["127.0.0.1"]
ROOT_URLCONF = "applications.orm"
USE_TZ = True
TIME_ZONE = "UTC"

DATABASES = {
    "default": dj_database_url.parse(os.environ["DATABASE_URL"], conn_max_age=None)
}
if DATABASES["default"]["ENGINE"] == "django.db.backends.sqlite3":
    DATABASES["default"]["OPTIONS"] = {  # those of the service
        "transaction_mode": "IMMEDIATE",
        "timeout": 20,
        "init_command": "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL",
    }

INSTALLED_APPS = [
    "usergroups",
    "bookmarks",
    "rest_framework",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
]
MIDDLEWARE = []
