"""Django's ModelAdmin with the model as a type parameter."""

from typing import TYPE_CHECKING, Generic, TypeVar

from django.contrib import admin
from django.db import models

M = TypeVar("M", bound=models.Model)

if TYPE_CHECKING:
    ModelAdmin = admin.ModelAdmin
else:

    class ModelAdmin(admin.ModelAdmin, Generic[M]):
        """Django's class, which is generic only in its type stubs."""
