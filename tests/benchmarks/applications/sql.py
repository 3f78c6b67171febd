"""PUT /api/user and POST /v1/bookmarks as plain Django views.

PostgreSQL prepares the SQL statement of each step.
"""

import hashlib
import json
from uuid import UUID

from django.db import connection
from django.http import JsonResponse
from django.urls import path
from django.utils import timezone
from uuid_utils.compat import uuid7

from bookmarks import web_url

API_TOKEN = """
    SELECT token.team_id, token.environment
    FROM usergroups_apitoken AS token
    WHERE token.digest = %s AND token.revoked_at IS NULL
        AND (token.expires_at IS NULL OR token.expires_at > CURRENT_TIMESTAMP)
"""
ACCESS_TOKEN = """
    SELECT user_group.id, user_group.team_id, user_group.token, user_group.name,
        user_group.provided_id, user_group.properties, user_group.environment
    FROM bookmarks_accesstoken AS token
    JOIN usergroups_usergroup AS user_group ON user_group.id = token.user_group_id
    WHERE token.digest = %s AND token.revoked_at IS NULL
        AND (token.expires_at IS NULL OR token.expires_at > CURRENT_TIMESTAMP)
"""
UPDATE = """
    UPDATE usergroups_usergroup SET {assignments}, updated_at = %s
    WHERE team_id = %s AND environment = %s AND provided_id = %s
    RETURNING team_id, token, name, provided_id, properties, environment
"""
INSERT = """
    INSERT INTO bookmarks_bookmark
        (id, user_group_id, url, url_digest, title, tags, note, created_at, updated_at)
    VALUES (%s, %s, %s, %s, %s, '', '', %s, %s) ON CONFLICT DO NOTHING RETURNING id
"""
EXISTING = """
    SELECT id, url, title, created_at, updated_at FROM bookmarks_bookmark
    WHERE user_group_id = %s AND url_digest = %s AND collection_id IS NULL
"""


def first_row(sql, *params):
    """Execute a statement without Django's cursor and return the first row, or
    None.
    """
    connection.ensure_connection()
    raw = connection.connection
    if connection.vendor == "sqlite":
        return next(iter(raw.execute(sql.replace("%s", "?"), params).fetchall()), None)
    # PostgreSQL only; Django's cursors do not prepare
    from psycopg import Cursor  # noqa: PLC0415

    with Cursor(raw) as cursor:
        return cursor.execute(sql, params, prepare=True).fetchone()


def token_digest(request):
    secret = request.headers["Authorization"].partition(" ")[2]
    return hashlib.sha256(secret.encode()).digest()


def now():
    """Return the time as Django would pass it to the driver."""
    moment = timezone.now()
    return str(moment.replace(tzinfo=None)) if connection.vendor == "sqlite" else moment


def group_fields(row):
    team_id, token, name, provided_id, properties, environment = row
    return {
        "team_id": team_id,
        "token": token,
        "name": name,
        "provided_id": provided_id,
        "properties": (
            json.loads(properties) if isinstance(properties, str) else properties
        ),
        "api_environment_tag": environment or None,
    }


def user(request):
    """PUT /api/user"""
    team_id, environment = first_row(API_TOKEN, token_digest(request))
    fields = json.loads(request.body)
    provided_id = fields.pop("user_group_id")
    assignments = ", ".join(
        f"{name} = %s" for name in ("name", "mapping", "properties") if name in fields
    )
    values = [
        fields[name] for name in ("name", "mapping", "properties") if name in fields
    ]
    # JSON is passed as text
    values = [
        value if isinstance(value, str) else json.dumps(value) for value in values
    ]
    row = first_row(
        UPDATE.format(assignments=assignments),
        *values,
        now(),
        team_id,
        environment,
        provided_id,
    )
    return JsonResponse({"success": 1, "user_group": group_fields(row)})


def bookmarks(request):
    """POST /v1/bookmarks"""
    group_id, *group = first_row(ACCESS_TOKEN, token_digest(request))
    fields = json.loads(request.body)
    key = uuid7()
    moment = now()
    url_digest = web_url.digest(fields["url"])
    stored_key = key.hex if connection.vendor == "sqlite" else key
    status = 201
    row = (key, fields["url"], fields["title"], moment, moment)
    if not first_row(
        INSERT,
        stored_key,
        group_id,
        fields["url"],
        url_digest,
        fields["title"],
        moment,
        moment,
    ):
        status = 200
        row = first_row(EXISTING, group_id, url_digest)
    row = (UUID(str(row[0])), *row[1:])  # SQLite returns text
    bookmark = dict(
        zip(("id", "url", "title", "created_at", "updated_at"), row, strict=True),
        tags=[],
        note="",
        collection=None,
    )
    return JsonResponse(
        {"success": 1, "user_group": group_fields(group), "bookmark": bookmark},
        status=status,
    )


urlpatterns = [path("api/user", user), path("v1/bookmarks", bookmarks)]
