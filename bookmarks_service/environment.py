"""Check the variables of the environment that the settings are read from."""

import os
import re

from django.core.exceptions import ImproperlyConfigured

from usergroups.contract.conf import RATE

SWITCH = r"(?i:1|0|true|false|on|off|yes|no)"
SIZE = r"[1-9]\d*"
TEXT = r"(\S(.*\S)?)?"
USER = r"([^\s/?#]*@)?"
HOST = r"([\w.-]+|\[[\da-fA-F:.]+\])"
PORT = r"(:\d{1,5})?"
DATABASE = rf"postgres(ql)?://{USER}({HOST}|[\w.,%-]*){PORT}(/[^\s?]+|/?\?(\S*&)?service=)\S*"
# Browsers send the names of origins in lower case, and leave out the default port.
ORIGIN = r"(?!http:[^,]*:80\s*(,|\Z)|https:[^,]*:443\s*(,|\Z))https?://([a-z0-9_.-]+|\[[\da-f:.]+\])(:\d+)?"

FORMATS = {
    "DEBUG": (SWITCH, "1 or 0"),
    "SECRET_KEY": (r"[\s\S]*\S[\s\S]*", "a random string, for example from `openssl rand -hex 32`"),
    "ALLOWED_HOSTS": (rf"\s*(\*|{HOST})(\s*,\s*(\*|{HOST}))*\s*", "host names such as bookmarks.example"),
    "DATABASE_URL": (
        rf"{DATABASE}|sqlite:///[^\s?]\S*|sqlite://:memory:",
        "a URL such as postgres://user:password@host:5432/name or sqlite:////path",
    ),
    "CACHE_URL": (
        rf"(rediss?://{USER}{HOST}{PORT}(/\d*)?(\?\S*)?)?",
        "a URL such as redis://host:6379/0",
    ),
    "CORS_ALLOWED_ORIGINS": (rf"(\s*{ORIGIN}(\s*,\s*{ORIGIN})*\s*)?", "origins such as https://app.example"),
    "BEHIND_TLS_PROXY": (SWITCH, "1 or 0"),
    "USERGROUPS_MAX_BODY_SIZE": (SIZE, "a number of bytes such as 1048576"),
    "BOOKMARKS_MAX_IMPORT_SIZE": (SIZE, "a number of bytes such as 8388608"),
    "USERGROUPS_CALL_RATE": (rf"({RATE})?", "calls per s, min, hour or day, such as 60000/min"),
    "USERGROUPS_FAILURE_RATE": (rf"({RATE})?", "calls per s, min, hour or day, such as 6000/min"),
    "USERGROUPS_TRUSTED_PROXIES": (r"\d+", "a number such as 1"),
    "OIDC_ISSUER": (r"(?u:(https?://[^\s?#@/]+(/[^\s?#]*)?)?)", "a URL such as https://sso.example/realms/company"),
    "OIDC_CLIENT_ID": (TEXT, "a name such as bookmarks"),
    "OIDC_CLIENT_SECRET": (TEXT, "the secret of the client, without spaces around it"),
    "OIDC_ROLES_CLAIM": (TEXT, "a name such as roles"),
    "PASSWORD_LOGIN": (SWITCH, "1 or 0"),
    "STATIC_ROOT": (TEXT.removesuffix("?"), "a folder such as /var/lib/bookmarks/static"),
    "OTEL_EXPORTER_OTLP_ENDPOINT": (r"(https?://[^\s/]+\S*)?", "a URL such as http://127.0.0.1:4318"),
}
"""The regular expression of each variable, and what the error suggests."""


def check_environment() -> None:
    """Raise ImproperlyConfigured if a variable is malformed. Do not quote its value, which may be a secret."""
    for name, (pattern, expected) in FORMATS.items():
        if name in os.environ and not re.fullmatch(pattern, os.environ[name], re.ASCII):
            raise ImproperlyConfigured(f"{name} is invalid. Set it to {expected}.")
