"""The columns and read-only fields of tokens in the admin."""

from collections.abc import Sequence
from typing import Any

from django.contrib import admin
from django.contrib.admin.utils import label_for_field
from django.db import router
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.text import capfirst
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from usergroups.admin_tools.owner_columns import two_lines
from usergroups.admin_tools.relative_time import relative_time

from .admin_issued import IssuedTokensAdmin
from .models import Token


class TokenColumnsAdmin(IssuedTokensAdmin):
    """The columns of lists and of confirmation pages, and the read-only fields of the change page."""

    @admin.display(description=_("token"))
    def name_and_hint(self, token: Token) -> str:
        return two_lines(token.name or gettext("Unnamed token"), f"{token.hint}…")

    @admin.display(description=_("state"))
    def badge(self, token: Token) -> str:
        return format_html('<span class="badge {}">{}</span>', token.state.value, token.state.label)

    @admin.display(description=_("access"), ordering="read_only")
    def access(self, token: Token) -> str:
        return gettext("Read") if token.read_only else gettext("Read, write")

    @admin.display(description=_("expires"), ordering="expires_at")
    def expires(self, token: Token) -> str | None:
        return relative_time(token.expires_at)

    @admin.display(description=_("last used"), ordering="last_used_at")
    def last_used(self, token: Token) -> str | None:
        return relative_time(token.last_used_at)

    @admin.display(description=_("successor"))
    def successor(self, token: Token) -> str:
        return self.link_to(token.get_successor())

    @admin.display(description=_("predecessor"))
    def predecessor_link(self, token: Token) -> str:
        return self.link_to(token.get_predecessor())

    def link_to(self, token: Token | None) -> str:
        if token is None:
            return str(self.get_empty_value_display())
        return format_html('<a href="{}">{}</a> {}', self.url_of("change", token.pk), token, self.badge(token))

    def confirmation_table(self, rows: Sequence[Any]) -> list[dict[str, Any]]:
        """Return who owns and who uses the tokens, and their successors, with one query for all of them."""
        tokens = self.model._base_manager.using(router.db_for_write(self.model))
        rotated = [token.pk for token in rows if token.rotated_at]
        successors = {each.predecessor_id: each for each in tokens.filter(predecessor__in=rotated)} if rotated else {}
        labels = {name: capfirst(str(label_for_field(name, self.model))) for name in self.owner_fields}
        return [
            {
                str(capfirst(self.opts.verbose_name)): token,
                **{label: getattr(token, name) for name, label in labels.items()},
                capfirst(gettext("access")): self.access(token),
                capfirst(gettext("state")): self.badge(token),
                capfirst(gettext("last used")): self.last_use(token),
                capfirst(gettext("successor")): self.link_to(successors.get(token.pk)),
            }
            for token in rows
        ]

    def last_use(self, token: Token) -> str | None:
        """Return when, from where and by which program the token was last used."""
        at = relative_time(token.last_used_at)
        if at is None:
            return gettext("Never")
        client = " · ".join(filter(None, [token.last_used_address, token.last_used_agent]))
        return format_html("{}<br>{}", SafeString(at), client) if client else at
