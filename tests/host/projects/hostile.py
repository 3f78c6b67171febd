"""The host with an admin, a replica, and a default parser and renderer that change the case of names."""

from tests.host.settings_admin import *  # noqa: F403
from tests.host.settings_admin import DATABASES, MIDDLEWARE, REST_FRAMEWORK

ALLOWED_HOSTS = ["127.0.0.1"]
DEFAULT_AUTO_FIELD = "django.db.models.SmallAutoField"
MIDDLEWARE = [*MIDDLEWARE, "djangorestframework_camel_case.middleware.CamelCaseMiddleWare"]
DATABASES = {**DATABASES, "replica": DATABASES["default"]}  # another connection to the same file
DATABASE_ROUTERS = ["tests.host.replica.router.ReplicaRouter"]
REST_FRAMEWORK = {
    **REST_FRAMEWORK,
    "DEFAULT_RENDERER_CLASSES": ["djangorestframework_camel_case.render.CamelCaseJSONRenderer"],
    "DEFAULT_PARSER_CLASSES": ["djangorestframework_camel_case.parser.CamelCaseJSONParser"],
}
