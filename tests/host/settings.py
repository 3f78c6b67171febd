"""A host project whose settings differ from those of the service, and from the
contract, wherever they can.

It has a user model with UUIDs as primary keys, two admin sites, an app with
models that refer to ours, and a read replica.
"""

import os
from pathlib import Path

import dj_database_url

SECRET_KEY = "not-a-secret"
ALLOWED_HOSTS = ["testserver", "127.0.0.1"]
ROOT_URLCONF = "tests.host.urls"

INSTALLED_APPS = [
    "django.contrib.admin",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.messages",
    "django.contrib.sessions",
    "django.contrib.staticfiles",
    "rest_framework",
    "drf_spectacular",
    "simple_history",
    "usergroups",
    "bookmarks",
    "tests.host.notes",
    "tests.host.customers",
]
AUTH_USER_MODEL = "notes.Person"
DEFAULT_AUTO_FIELD = "django.db.models.SmallAutoField"

MIDDLEWARE = [
    "django.contrib.sessions.middleware.SessionMiddleware",
    "tests.host.components.read_body",
    "django.middleware.security.SecurityMiddleware",
    "django.middleware.locale.LocaleMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "djangorestframework_camel_case.middleware.CamelCaseMiddleWare",
]
APPEND_SLASH = True

DATABASE = dj_database_url.parse(os.environ.get("DATABASE_URL", "sqlite://:memory:"))
# If they are in memory, these are two separate databases.
DATABASES = {"default": {**DATABASE, "ATOMIC_REQUESTS": True}, "replica": DATABASE}
DATABASE_ROUTERS = ["tests.host.components.ReplicaRouter"]

TIME_ZONE = "Asia/Tokyo"
LANGUAGE_CODE = "de"
USE_THOUSAND_SEPARATOR = True

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
            ]
        },
    }
]
PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]

REST_FRAMEWORK = {
    "DEFAULT_RENDERER_CLASSES": [
        "djangorestframework_camel_case.render.CamelCaseJSONRenderer"
    ],
    "DEFAULT_PARSER_CLASSES": [
        "djangorestframework_camel_case.parser.CamelCaseJSONParser"
    ],
    "DEFAULT_AUTHENTICATION_CLASSES": [
        "rest_framework.authentication.BasicAuthentication"
    ],
    "DEFAULT_PERMISSION_CLASSES": ["rest_framework.permissions.IsAdminUser"],
    "DEFAULT_THROTTLE_CLASSES": ["rest_framework.throttling.AnonRateThrottle"],
    "DEFAULT_THROTTLE_RATES": {"anon": "1/day"},
    "DEFAULT_PAGINATION_CLASS": "rest_framework.pagination.PageNumberPagination",
    "DEFAULT_SCHEMA_CLASS": "drf_spectacular.openapi.AutoSchema",
    "DEFAULT_VERSIONING_CLASS": "rest_framework.versioning.AcceptHeaderVersioning",
    "ALLOWED_VERSIONS": ["9"],
    "EXCEPTION_HANDLER": "tests.host.components.exception_handler",
    "NON_FIELD_ERRORS_KEY": "url",
    "UNAUTHENTICATED_USER": None,
    "UNAUTHENTICATED_TOKEN": "builtins.object",
    "DATETIME_FORMAT": "%d.%m.%y",
    "COMPACT_JSON": False,
    "UNICODE_JSON": False,
    "STRICT_JSON": False,
    "URL_FORMAT_OVERRIDE": "format",
}
SPECTACULAR_SETTINGS = {
    "PREPROCESSING_HOOKS": ["usergroups.api.openapi.exclude_api_views"],
    "POSTPROCESSING_HOOKS": [
        "drf_spectacular.contrib.djangorestframework_camel_case.camelize_serializer_fields"
    ],
}
