"""Filters for lists of tokens."""

from typing import Any

from django.contrib import admin
from django.http import HttpRequest
from django.utils.translation import gettext_lazy as _

from .querysets import TokenState


class TokenStateFilter(admin.SimpleListFilter):
    title = _("state")
    parameter_name = "state"

    def lookups(self, request: HttpRequest, model_admin: Any) -> Any:
        return TokenState.choices

    def queryset(self, request: HttpRequest, queryset: Any) -> Any:
        return queryset.in_state(self.value()) if self.value() in TokenState.values else queryset


class TokenUseFilter(admin.SimpleListFilter):
    title = _("use")
    parameter_name = "use"

    def lookups(self, request: HttpRequest, model_admin: Any) -> Any:
        return [("unused", _("Not used for 90 days"))]

    def queryset(self, request: HttpRequest, queryset: Any) -> Any:
        return queryset.unused() if self.value() == "unused" else queryset
