"""The host with Django's own admin at another path. The primary keys of its users are UUIDs."""

from pathlib import Path

from tests.host.settings import *  # noqa: F403
from tests.host.settings import INSTALLED_APPS, MIDDLEWARE, REST_FRAMEWORK

INSTALLED_APPS = [
    "django.contrib.admin",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.staticfiles",
    *INSTALLED_APPS,
    "drf_spectacular",
    "tests.host.notes",
    "tests.host.people",
]
MIGRATION_MODULES = {"notes": None}  # Its tables are created without migrations.
AUTH_USER_MODEL = "people.Person"
MIDDLEWARE = [
    "django.contrib.sessions.middleware.SessionMiddleware",
    *MIDDLEWARE,
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
]
ROOT_URLCONF = "tests.host.urls_admin"
REST_FRAMEWORK = {
    **REST_FRAMEWORK,
    "DEFAULT_SCHEMA_CLASS": "drf_spectacular.openapi.AutoSchema",
    "DEFAULT_VERSIONING_CLASS": None,
}
SPECTACULAR_SETTINGS = {
    "PREPROCESSING_HOOKS": ["usergroups.tokens.openapi.exclude_contract_views"],
    "POSTPROCESSING_HOOKS": [
        "drf_spectacular.contrib.djangorestframework_camel_case.camelize_serializer_fields",
    ],
}
LANGUAGE_CODE = "en"
USE_THOUSAND_SEPARATOR = False
STATIC_URL = "assets/"
TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [Path(__file__).parent / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
            ],
        },
    },
]
PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
