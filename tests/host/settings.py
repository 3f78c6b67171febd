"""A host project whose settings for REST framework differ from the contract wherever they can."""

import os

import dj_database_url

SECRET_KEY = "not-a-secret"
ALLOWED_HOSTS = ["testserver"]
ROOT_URLCONF = "tests.host.urls"

INSTALLED_APPS = [
    "django.contrib.contenttypes",
    "django.contrib.auth",
    "rest_framework",
    "usergroups",
    "bookmarks",
]

MIDDLEWARE = [
    "tests.host.middleware.read_body",
    "django.middleware.security.SecurityMiddleware",
    "django.middleware.locale.LocaleMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
]
APPEND_SLASH = True

DATABASES = {
    "default": {
        **dj_database_url.parse(os.environ.get("DATABASE_URL", "sqlite://:memory:")),
        "ATOMIC_REQUESTS": True,
    }
}

TIME_ZONE = "Asia/Tokyo"
LANGUAGE_CODE = "de"
USE_THOUSAND_SEPARATOR = True

REST_FRAMEWORK = {
    "DEFAULT_RENDERER_CLASSES": ["rest_framework.renderers.BrowsableAPIRenderer"],
    "DEFAULT_PARSER_CLASSES": ["rest_framework.parsers.FormParser"],
    "DEFAULT_AUTHENTICATION_CLASSES": ["rest_framework.authentication.BasicAuthentication"],
    "DEFAULT_PERMISSION_CLASSES": ["rest_framework.permissions.IsAdminUser"],
    "DEFAULT_THROTTLE_CLASSES": ["rest_framework.throttling.AnonRateThrottle"],
    "DEFAULT_THROTTLE_RATES": {"anon": "1/day"},
    "DEFAULT_PAGINATION_CLASS": "rest_framework.pagination.PageNumberPagination",
    "DEFAULT_VERSIONING_CLASS": "rest_framework.versioning.AcceptHeaderVersioning",
    "ALLOWED_VERSIONS": ["9"],
    "EXCEPTION_HANDLER": "tests.host.urls.exception_handler",
    "NON_FIELD_ERRORS_KEY": "url",
    "UNAUTHENTICATED_USER": None,
    "UNAUTHENTICATED_TOKEN": "builtins.object",
    "DATETIME_FORMAT": "%d.%m.%y",
    "COMPACT_JSON": False,
    "UNICODE_JSON": False,
    "STRICT_JSON": False,
    "URL_FORMAT_OVERRIDE": "format",
}
