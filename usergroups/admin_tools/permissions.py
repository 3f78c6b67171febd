"""What the user of a request may view."""

from typing import Any

from django.contrib import admin
from django.contrib.admin.models import LogEntry
from django.contrib.contenttypes.models import ContentType
from django.db import models
from django.http import HttpRequest

from .model_admin import ModelAdmin


def can_view(
    site: admin.AdminSite, request: HttpRequest, model: type[models.Model]
) -> bool:
    """Return whether the model is registered and the user may view it."""
    if not site.is_registered(model):
        return False
    model_admin: ModelAdmin[Any] = site.get_model_admin(model)
    return model_admin.has_view_permission(request)


def visible_content_types(
    site: admin.AdminSite, request: HttpRequest
) -> list[ContentType]:
    """Return the content types of the models that the user may view, without
    LogEntry itself.
    """
    visible = [
        model
        for model in site._registry
        if model is not LogEntry and can_view(site, request, model)
    ]
    return list(ContentType.objects.get_for_models(*visible).values())
