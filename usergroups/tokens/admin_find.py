"""Finding tokens by their secrets, or by the beginnings of secrets."""

import re
from collections.abc import Sequence
from typing import ClassVar

from django.contrib import admin
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from usergroups.admin_tools.base import OperatorAdmin

from . import secret_format
from .models import Token


class FindableTokenAdmin(OperatorAdmin):
    """Find tokens in any state, also revoked and expired ones."""

    find_fields = ("name", "hint")
    find_display: ClassVar[tuple[str, ...]] = ("owner", "badge")

    @property
    def secret_prefix(self) -> str:  # type: ignore[override]
        return str(self.model.prefix)

    def with_secrets(self, secrets: Sequence[str]) -> Q:
        digests = [secret_format.digest(secret) for secret in secrets]
        cut_off = [secret for secret in secrets if not secret_format.is_well_formed(secret, self.secret_prefix)]
        return Q(digest__in=digests) | Q(hint__in=secret_format.hints_in(" ".join(cut_off), self.secret_prefix))

    def identified_by(self, text: str) -> Q:
        """Also match the id in the API, and the beginning of the secret anywhere in the text."""
        condition = super().identified_by(text)
        if re.fullmatch("[0-9a-f]{64}", text):
            condition |= Q(digest=bytes.fromhex(text))
        return condition | Q(hint__in=secret_format.hints_in(text, self.secret_prefix))

    @admin.display(description=_("owner"))
    def owner(self, token: Token) -> str:
        return str(token.owner)
