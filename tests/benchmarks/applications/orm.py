"""Plain Django views with the ORM: no middleware, no validation, no rate limit
and no log.
"""

import hashlib
import json

from django.db import IntegrityError, transaction
from django.http import JsonResponse
from django.urls import path
from django.utils import timezone

from bookmarks import web_url
from bookmarks.models import AccessToken, Bookmark
from usergroups.models import ApiToken, UserGroup


def authenticate(request, model):
    """Return the active token of a model with its owner. Raises DoesNotExist."""
    secret = request.headers["Authorization"].partition(" ")[2]
    tokens = model.objects.select_related(model.owner_field)
    token = tokens.get(digest=hashlib.sha256(secret.encode()).digest(), revoked_at=None)
    if token.expires_at and token.expires_at <= timezone.now():
        raise model.DoesNotExist
    return token


def group_fields(group):
    return {
        "team_id": group.team_id,
        "token": group.token,
        "name": group.name,
        "provided_id": group.provided_id,
        "properties": group.properties,
        "api_environment_tag": group.environment or None,
    }


def bookmark_fields(bookmark):
    return {
        "id": bookmark.pk,
        "url": bookmark.url,
        "title": bookmark.title,
        "tags": bookmark.tags,
        "note": bookmark.note,
        "collection": bookmark.collection_id,
        "created_at": bookmark.created_at,
        "updated_at": bookmark.updated_at,
    }


def user(request):
    """PUT /api/user"""
    token = authenticate(request, ApiToken)
    fields = json.loads(request.body)
    groups = UserGroup.objects.filter(
        team=token.team_id,
        environment=token.environment,
        provided_id=fields.pop("user_group_id"),
    )
    with transaction.atomic():
        groups.update(**fields, updated_at=timezone.now())
        group = groups.get()
    return JsonResponse({"success": 1, "user_group": group_fields(group)})


def bookmarks(request):
    """POST /v1/bookmarks, GET /v1/bookmarks"""
    group = authenticate(request, AccessToken).user_group
    if request.method == "GET":
        rows = Bookmark.objects.filter(user_group=group).order_by("-created_at", "-id")[
            :50
        ]
        return JsonResponse(
            {"success": 1, "bookmarks": [bookmark_fields(row) for row in rows]}
        )
    fields = json.loads(request.body)
    try:
        with transaction.atomic():
            row = Bookmark.objects.create(user_group=group, **fields)
            status = 201
    except IntegrityError:
        digest = web_url.digest(fields["url"])
        row = Bookmark.objects.get(user_group=group, url_digest=digest, collection=None)
        status = 200
    data = {
        "success": 1,
        "user_group": group_fields(group),
        "bookmark": bookmark_fields(row),
    }
    return JsonResponse(data, status=status)


def bookmark(request, pk):
    """GET /v1/bookmarks/{id}"""
    group = authenticate(request, AccessToken).user_group
    row = Bookmark.objects.get(user_group=group, pk=pk)
    return JsonResponse({"success": 1, "bookmark": bookmark_fields(row)})


urlpatterns = [
    path("api/user", user),
    path("v1/bookmarks", bookmarks),
    path("v1/bookmarks/<uuid:pk>", bookmark),
]
