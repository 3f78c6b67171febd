"""The settings of the service. docs/settings.md lists those that are read from
the environment.
"""

import os
from datetime import timedelta
from pathlib import Path
from urllib.parse import quote

from csp.constants import NONE, SELF
from django.core.exceptions import ImproperlyConfigured
from environs import FileAwareEnv, validate

from usergroups import __version__
from usergroups.api.conf import RATE

BASE_DIR = Path(__file__).resolve().parent.parent

# The value of a variable may be in a file, which <variable>_FILE names.
env = FileAwareEnv(strip_whitespace=True)
for name in (
    "SECRET_KEY_FILE",
    "DATABASE_URL_FILE",
    "CACHE_URL_FILE",
    "OIDC_CLIENT_SECRET_FILE",
):
    path = os.environ.get(name)
    if not path:
        continue
    if not Path(path).is_file() or not os.access(path, os.R_OK):
        raise ImproperlyConfigured(
            f"{name} is invalid. Set it to a file that the service can read."
        )
SECONDS = validate.Range(min=1, error="Set it to a number of seconds such as 60.")
DAYS = validate.Range(min=1, max=36_500, error="Set it to a number of days such as 90.")
CONNECTIONS = validate.Range(min=0, error="Set it to a number such as 8.")
SIZE = validate.Range(min=1, error="Set it to a number of bytes such as 1048576.")
CALLS = validate.Regexp(
    rf"({RATE})?\Z",
    error="Set it to calls per s, min, hour or day, such as 60000/min.",
)
URL = validate.Regexp(
    r"(https?://\S+)?\Z", error="Set it to a URL such as https://host.example:4318."
)
REDIS_URL = validate.Regexp(
    r"(rediss?://\S+)?\Z", error="Set it to a URL such as redis://host:6379/0."
)
# Reject a password with a slash, "?" or "#" that is not percent-encoded. The
# URL's host would end there, and the rest of the password would become the name
# of the database, which error messages quote.
DATABASE_URL = validate.Regexp(
    r"(postgres(ql)?://[^/?#]*[^@]*|sqlite://(:memory:|/.*))\Z",
    error=(
        "Set it to a URL such as postgres://user:password@host:5432/name, with "
        "percent-encoded special characters, or sqlite:////path."
    ),
)

DEBUG = env.bool("DEBUG", False)
SECRET_KEY = env.str("SECRET_KEY", "django-insecure-for-development" if DEBUG else "")
if not SECRET_KEY.strip():
    raise ImproperlyConfigured(
        "Set SECRET_KEY to a long random string, or DEBUG=1 on a developer's machine."
    )
ALLOWED_HOSTS = env.list(
    "ALLOWED_HOSTS", ["localhost", "127.0.0.1", "[::1]"], subcast=str.strip
)

INSTALLED_APPS = [
    "bookmarks_service",
    "usergroups",
    "bookmarks",
    "bookmarks.citus",
    "rest_framework",
    "drf_spectacular",
    "drf_spectacular_sidecar",
    "axes",
    "csp",
    "bookmarks_service.admin_config.OperatorsAdminConfig",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.staticfiles",
]

# The paths below which there are pages. The root is a page, too.
PAGES = "admin|docs|schema"

MIDDLEWARE = [
    "bookmarks_service.request_log.log_requests",
    "bookmarks_service.behind_proxy.read_to_the_end",
    "bookmarks_service.health.health",
    "django.middleware.security.SecurityMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "bookmarks_service.behind_proxy.refuse_plain_http",
    "django.middleware.common.CommonMiddleware",
    # API calls skip the middleware of bookmarks_service.middleware.
    "bookmarks_service.middleware.CSPMiddleware",
    "bookmarks_service.middleware.LocaleMiddleware",
    "bookmarks_service.middleware.SessionMiddleware",
    "bookmarks_service.middleware.CsrfViewMiddleware",
    "bookmarks_service.middleware.AuthenticationMiddleware",
    # CsrfViewMiddleware reads the form later, in process_view().
    "bookmarks_service.form_sizes.FormSizeMiddleware",
    "bookmarks_service.middleware.MessageMiddleware",
    "bookmarks_service.middleware.AxesMiddleware",
]

# The origins of web pages whose scripts may call the API. Off by default.
CORS_ALLOWED_ORIGINS = env.list("CORS_ALLOWED_ORIGINS", [], subcast=str.strip)
CORS_URLS_REGEX = r"^/(api|v1|schema)/"
CORS_ALLOW_HEADERS = ["authorization", "content-type", "if-match", "x-request-id"]
CORS_EXPOSE_HEADERS = [
    "Content-Disposition",
    "ETag",
    "Location",
    "RateLimit",
    "RateLimit-Policy",
    "Retry-After",
    "X-Request-ID",
]
if CORS_ALLOWED_ORIGINS:
    INSTALLED_APPS.append("corsheaders")
    after_health = MIDDLEWARE.index("bookmarks_service.health.health") + 1
    MIDDLEWARE.insert(after_health, "corsheaders.middleware.CorsMiddleware")

ROOT_URLCONF = "bookmarks_service.urls"
WSGI_APPLICATION = "bookmarks_service.wsgi.application"

TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE_DIR / "templates"],
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

DEVELOPMENT_DATABASE_URL = f"sqlite:///{quote(str(BASE_DIR / 'db.sqlite3'))}"
# Require DATABASE_URL, because a command that is run without the environment of
# the service would silently use another database.
has_database = "DATABASE_URL" in os.environ or "DATABASE_URL_FILE" in os.environ
if not has_database and not DEBUG:
    raise ImproperlyConfigured(
        "Set DATABASE_URL to the database, such as "
        "postgres://user:password@host:5432/name, or DEBUG=1 on a developer's machine."
    )
env.str("DATABASE_URL", DEVELOPMENT_DATABASE_URL, validate=DATABASE_URL)
database = env.dj_db_url(
    "DATABASE_URL",
    DEVELOPMENT_DATABASE_URL,
    # persistent: a new connection takes several times as long as the queries
    # of a request
    conn_max_age=None,
    conn_health_checks=True,
    # A server-side cursor outlives its transaction, and a pooler may give the
    # next one another connection.
    disable_server_side_cursors=True,
)
DATABASES = {"default": database}
# The server sets it: see wsgi.py. Commands need no pool.
pool_size = env.int("DATABASE_POOL_SIZE", 0, validate=CONNECTIONS)
if database["ENGINE"] == "django.db.backends.postgresql":
    # so that statements can be prepared: see postgresql_connections
    database.setdefault("OPTIONS", {})["server_side_binding"] = True
    if pool_size:
        database["ENGINE"] = "bookmarks_service.postgresql"
        database["CONN_MAX_AGE"] = 0  # The pool keeps the connections open.
        # postgresql_connections checks those from the pool.
        database["CONN_HEALTH_CHECKS"] = False
        database["OPTIONS"]["pool"] = {
            "min_size": 1,
            "max_size": pool_size,
            # Seconds. Then the response is 503.
            "timeout": 10,
            # Seconds of failed attempts to connect, after which a call makes
            # the next one. Otherwise, the pool would wait longer each time.
            "reconnect_timeout": 1,
        }
if database["ENGINE"] == "django.db.backends.sqlite3":
    database["OPTIONS"] = {
        # Take the write lock at once, so that a transaction that reads before
        # it writes cannot fail halfway.
        "transaction_mode": "IMMEDIATE",
        "timeout": 20,  # seconds
        # Readers and the writer do not block each other, and a commit is on
        # disk before it is acknowledged.
        "init_command": "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL",
    }

CACHE_URL = env.str("CACHE_URL", "", validate=REDIS_URL)
cache = {
    "BACKEND": "django.core.cache.backends.locmem.LocMemCache",
    "OPTIONS": {"MAX_ENTRIES": 100_000},
}
if CACHE_URL:
    cache = {
        "BACKEND": "django.core.cache.backends.redis.RedisCache",
        "LOCATION": CACHE_URL,
        # seconds
        "OPTIONS": {"socket_connect_timeout": 0.25, "socket_timeout": 0.25},
    }
CACHES = {"default": cache}

# An empty value means no limit, as does None in the settings of the apps.
USERGROUPS_CALL_RATE = (
    env.str("USERGROUPS_CALL_RATE", "60000/min", validate=CALLS) or None
)
USERGROUPS_FAILURE_RATE = (
    env.str("USERGROUPS_FAILURE_RATE", "6000/min", validate=CALLS) or None
)
USERGROUPS_CALL_TIME_LIMIT = env.int("USERGROUPS_CALL_TIME_LIMIT", 60, validate=SECONDS)
USERGROUPS_DELETION_RETENTION_DAYS = env.int(
    "USERGROUPS_DELETION_RETENTION_DAYS", 90, validate=DAYS
)
# bytes
USERGROUPS_MAX_BODY_SIZE = env.int(
    "USERGROUPS_MAX_BODY_SIZE", 1024 * 1024, validate=SIZE
)
# bytes
BOOKMARKS_MAX_IMPORT_SIZE = env.int(
    "BOOKMARKS_MAX_IMPORT_SIZE", 32 * 1024 * 1024, validate=SIZE
)

PROMETHEUS_MULTIPROC_DIR = env.str("PROMETHEUS_MULTIPROC_DIR", "")
if PROMETHEUS_MULTIPROC_DIR:
    is_folder = Path(PROMETHEUS_MULTIPROC_DIR).is_dir()
    if not is_folder or not os.access(PROMETHEUS_MULTIPROC_DIR, os.W_OK | os.X_OK):
        raise ImproperlyConfigured(
            "PROMETHEUS_MULTIPROC_DIR is invalid. "
            "Set it to a folder that the service may write to, such as /run/metrics."
        )
TRACES_ENDPOINT = env.str("OTEL_EXPORTER_OTLP_ENDPOINT", "", validate=URL)

AUTH_PASSWORD_VALIDATORS = [
    {"NAME": f"django.contrib.auth.password_validation.{name}"}
    for name in (
        "UserAttributeSimilarityValidator",
        "MinimumLengthValidator",
        "CommonPasswordValidator",
    )
]

AUTHENTICATION_BACKENDS = ["axes.backends.AxesStandaloneBackend"]

# Single sign-on with OpenID Connect. Off by default.
OIDC_ISSUER = env.str("OIDC_ISSUER", "", validate=URL)
OIDC_CLIENT_ID = env.str("OIDC_CLIENT_ID", "")
OIDC_CLIENT_SECRET = env.str("OIDC_CLIENT_SECRET", "")
OIDC_ROLES_CLAIM = env.str("OIDC_ROLES_CLAIM", "") or "roles"
PASSWORD_LOGIN = env.bool("PASSWORD_LOGIN", True)
if OIDC_ISSUER:
    # This backend loads users whom single_sign_on.py has logged in. No form
    # sends the credentials that it accepts.
    AUTHENTICATION_BACKENDS.append("django.contrib.auth.backends.RemoteUserBackend")
    AUTHLIB_OAUTH_CLIENTS = {
        "provider": {
            "client_id": OIDC_CLIENT_ID,
            "client_secret": OIDC_CLIENT_SECRET,
            "server_metadata_url": (
                f"{OIDC_ISSUER.rstrip('/')}/.well-known/openid-configuration"
            ),
            "client_kwargs": {
                "scope": "openid profile email",
                "code_challenge_method": "S256",
                "default_timeout": 5,  # seconds for each response
            },
        }
    }
provider = (OIDC_ISSUER, OIDC_CLIENT_ID, OIDC_CLIENT_SECRET)
if any(provider) and not all(provider):
    raise ImproperlyConfigured(
        "Set all of OIDC_ISSUER, OIDC_CLIENT_ID and OIDC_CLIENT_SECRET, or none of "
        "them."
    )
if PASSWORD_LOGIN:
    AUTHENTICATION_BACKENDS.append("django.contrib.auth.backends.ModelBackend")
elif not OIDC_ISSUER:
    raise ImproperlyConfigured(
        "PASSWORD_LOGIN is off, but OIDC_ISSUER is not set, so nobody could log in."
    )

AXES_FAILURE_LIMIT = 10
AXES_COOLOFF_TIME = timedelta(minutes=15)
# so that nobody can lock an operator out from elsewhere
AXES_LOCKOUT_PARAMETERS = ["ip_address"]
AXES_CLIENT_IP_CALLABLE = "bookmarks_service.behind_proxy.client_address"
AXES_LOCKOUT_TEMPLATE = "admin/locked_out.html"
AXES_DISABLE_ACCESS_LOG = True
AXES_VERBOSE = False
# Do not list failed logins in the admin, because a username may be a password
# that was typed into the wrong field.
AXES_ENABLE_ADMIN = False

# Bytes. A form with 1 MiB of JSON is larger when it is URL-encoded.
# FormSizeMiddleware allows less on other pages.
DATA_UPLOAD_MAX_MEMORY_SIZE = 8 * 1024 * 1024

# The page after a login whose parameter "next" is missing or not on this host.
LOGIN_REDIRECT_URL = "admin:index"

APPEND_SLASH = False  # Paths match exactly.
LANGUAGE_CODE = "en"
LANGUAGES = [("en", "English"), ("de", "Deutsch")]
# also for the texts in templates/
LOCALE_PATHS = [BASE_DIR / "bookmarks_service" / "locale"]
TIME_ZONE = "UTC"
FORMAT_MODULE_PATH = "bookmarks_service.formats"
USE_THOUSAND_SEPARATOR = True

STATIC_URL = "static/"
STATIC_ROOT = env.path("STATIC_ROOT", BASE_DIR / "staticfiles")
# The names of files contain a hash of their content, so that browsers can
# cache them forever.
STORAGES = {
    "default": {"BACKEND": "django.core.files.storage.FileSystemStorage"},
    "staticfiles": {
        "BACKEND": "django.contrib.staticfiles.storage.ManifestStaticFilesStorage"
    },
}

# Off: plain HTTP, for development. On: behind a proxy that terminates TLS.
BEHIND_TLS_PROXY = env.bool("BEHIND_TLS_PROXY", False)
# Redirect browsers to HTTPS. API clients get an error from
# behind_proxy.refuse_plain_http instead, because they have sent their token in
# plain text, and because many clients change the method when they follow a
# redirect.
SECURE_REDIRECT_EXEMPT = [rf"^(?!$|({PAGES})(/|$))"]
SECURE_SSL_REDIRECT = BEHIND_TLS_PROXY
SESSION_COOKIE_SECURE = BEHIND_TLS_PROXY
CSRF_COOKIE_SECURE = BEHIND_TLS_PROXY
if BEHIND_TLS_PROXY:
    SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https")
    SECURE_HSTS_SECONDS = 365 * 24 * 60 * 60
    if DEBUG:
        raise ImproperlyConfigured(
            "DEBUG reveals internals to all visitors. Unset it when BEHIND_TLS_PROXY "
            "is on."
        )
    if len(SECRET_KEY) < 32:
        raise ImproperlyConfigured(
            "SECRET_KEY is too short. Set it to 50 random characters."
        )
    if "*" in ALLOWED_HOSTS:
        raise ImproperlyConfigured(
            "ALLOWED_HOSTS must not contain * when BEHIND_TLS_PROXY is on. List the "
            "host names."
        )
    if OIDC_ISSUER.startswith("http:"):
        raise ImproperlyConfigured(
            "OIDC_ISSUER must begin with https: when BEHIND_TLS_PROXY is on."
        )
# Allow scripts and styles from this host only, and no inline ones.
CONTENT_SECURITY_POLICY = {
    "DIRECTIVES": {
        "default-src": [NONE],
        "script-src": [SELF],
        "style-src": [SELF],
        "img-src": [SELF, "data:"],
        "font-src": [SELF],
        "connect-src": [SELF],
        "form-action": [SELF],
        "base-uri": [NONE],
        "frame-ancestors": [NONE],
    }
}
# By default one proxy, or none.
USERGROUPS_TRUSTED_PROXIES = env.int(
    "USERGROUPS_TRUSTED_PROXIES",
    int(BEHIND_TLS_PROXY),
    validate=validate.Range(min=0),
)
SILENCED_SYSTEM_CHECKS = [
    # HSTS for subdomains and preloading affect the whole domain, not only this
    # host.
    "security.W005",
    "security.W021",
    # These checks look for middleware by its name, and do not find the
    # subclasses in middleware.py.
    "security.W003",
    "axes.W002",
]

LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {"json": {"()": "bookmarks_service.json_log.JsonFormatter"}},
    "handlers": {"stderr": {"class": "logging.StreamHandler", "formatter": "json"}},
    "root": {"handlers": ["stderr"], "level": "INFO"},
    "loggers": {
        "django": {"handlers": [], "propagate": True},
        "_granian": {"handlers": [], "propagate": True},
        # It logs each use of a connection.
        "psycopg.pool": {"level": "WARNING"},
        "django.request": {"level": "ERROR"},  # Each request is logged by request_log.
        # so that a request with an unknown host does not log a traceback
        "django.security.DisallowedHost": {"level": "CRITICAL"},
        # These messages quote the query string, which may contain a secret.
        "django.security.DisallowedModelAdminLookup": {"level": "CRITICAL"},
        "django.security.DisallowedModelAdminToField": {"level": "CRITICAL"},
    },
}

# for /schema/ and /docs/
REST_FRAMEWORK = {"DEFAULT_SCHEMA_CLASS": "drf_spectacular.openapi.AutoSchema"}

SPECTACULAR_SETTINGS = {
    "TITLE": "bookmarks_service",
    "VERSION": __version__,
    "DESCRIPTION": (
        "Manages user groups and their bookmarks. Every response except an exported "
        "file is a JSON object with `success`, 1 or 0. An error response also has a "
        "`type` and a list of `errors`: `code` is for programs, `detail` is for "
        "people, and `attr` names the invalid field."
    ),
    "OAS_VERSION": "3.1.1",
    "CONTACT": {"name": "The operator of this service"},
    "LICENSE": {"name": "MIT", "identifier": "MIT"},
    "SERVERS": [{"url": "/", "description": "This service"}],
    "TAGS": [
        {
            "name": "User groups",
            "description": (
                "The user groups of a team. These operations take an API token."
            ),
        },
        {
            "name": "Access tokens",
            "description": (
                "The access tokens of a user group. These operations take an API token."
            ),
        },
        {
            "name": "Bookmarks",
            "description": (
                "The bookmarks of a user group. These operations take an access token."
            ),
        },
        {
            "name": "Files",
            "description": (
                "Imports and exports of bookmarks. These operations take an access "
                "token."
            ),
        },
        {
            "name": "Collections",
            "description": (
                "The collections of bookmarks. These operations take an access token."
            ),
        },
    ],
    # The apps name the components of enumerations, so that the default hook is
    # not needed.
    "POSTPROCESSING_HOOKS": ["bookmarks_service.schema.document_request_ids"],
    "SERVE_AUTHENTICATION": [],
    "SWAGGER_UI_DIST": "SIDECAR",
    "SWAGGER_UI_FAVICON_HREF": "SIDECAR",
}
