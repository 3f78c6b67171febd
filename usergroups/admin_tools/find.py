"""The rows of a model that a text identifies, for the search field in the header of the admin."""

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from django.apps import apps
from django.contrib import admin, messages
from django.contrib.admin.views.main import SEARCH_VAR
from django.db import models
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils.translation import gettext as _

from .autocomplete import is_valid_value

if TYPE_CHECKING:
    ModelAdmin = admin.ModelAdmin[Any]
else:
    ModelAdmin = admin.ModelAdmin


def admins_of(site: admin.AdminSite) -> "list[FindableAdmin]":
    """Return the admins of the site that Find asks, in the order of the installed apps."""
    admins = [site.get_model_admin(model) for model in apps.get_models() if site.is_registered(model)]
    return [each for each in admins if isinstance(each, FindableAdmin)]


def secrets_pattern(site: admin.AdminSite, length: int = 30) -> str:
    """Return the regular expression, for Python and JavaScript, of secrets of any model of the site.

    A secret has at least ``length`` characters after its prefix. A whole one has 38.
    """
    prefixes = sorted({each.secret_prefix for each in admins_of(site) if each.secret_prefix})
    return rf"(?<![0-9A-Za-z])(?:{'|'.join(prefixes)})_[0-9A-Za-z]{{{length},}}" if prefixes else "(?!)"


class FindableAdmin(ModelAdmin):
    """An admin whose rows are found by a text, and whose list keeps secrets out of its address."""

    find_fields: ClassVar[tuple[str, ...]] = ()
    """The fields that a text is compared with. A row is found by a whole value or by a part of a text."""
    find_display: ClassVar[tuple[str, ...]] = ()
    """What to show of a found row beside its name. The names are those that ``list_display`` may contain."""
    secret_prefix: str = ""
    """The prefix of the secrets that identify a row, if any."""

    def with_secrets(self, secrets: Sequence[str]) -> models.Q:
        """Return the condition that one of these secrets, which have the prefix, identifies the row."""
        return models.Q()  # An empty condition finds nothing.

    def identified_by(self, text: str) -> models.Q:
        """Return the condition that the whole text identifies the row. It contains no whole secret."""
        fields: list[Any] = [self.opts.get_field(name) for name in self.find_fields]
        return any_of({field.name: text for field in fields if is_valid_value(field, text)})

    def similar_to(self, text: str) -> models.Q:
        """Return the condition to try if the whole text identifies no row: a field contains the text."""
        fields = [self.opts.get_field(name) for name in self.find_fields]
        return any_of({f"{field.name}__icontains": text for field in fields if isinstance(field, models.CharField)})

    def changelist_view(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        if re.search(secrets_pattern(self.admin_site), request.GET.get(SEARCH_VAR, "")):
            others = request.GET.copy()
            del others[SEARCH_VAR]
            text = _("A secret was removed from the address. Lists do not search for secrets: use Find in the header.")
            messages.warning(request, text)
            return redirect(f"{request.path}?{others.urlencode()}")
        return super().changelist_view(request, *args, **kwargs)


def any_of(lookups: dict[str, Any]) -> models.Q:
    """Return the condition that one of the lookups holds."""
    return models.Q(*lookups.items(), _connector=models.Q.OR)
