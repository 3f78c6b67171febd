"""Pages that Django's admin does not have, and how they show rows."""

from collections.abc import Callable, Sequence
from typing import Any
from uuid import UUID

from django.db import models
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.urls import URLPattern, path
from django.utils.html import format_html, format_html_join

from .addresses import admin_url, change_url
from .model_admin import M, ModelAdmin


def let_browsers_go_back(response: HttpResponse) -> HttpResponse:
    """Let browsers show the response to a POST again, without another POST,
    when the user goes back to it.
    """
    response["Cache-Control"] = "private, no-cache"
    return response


class PagesAdmin(ModelAdmin[M]):
    """An admin with pages that Django's admin does not have."""

    def page_path(
        self,
        route: str,
        view: Callable[..., Any],
        page: str,
        cacheable: bool = False,
    ) -> URLPattern:
        """Return the URL pattern of a page, whose address is
        ``url_of(page)``.

        A page that calls ``let_browsers_go_back()`` must be ``cacheable``.
        """
        name = f"{self.opts.app_label}_{self.opts.model_name}_{page}"
        view = self.admin_site.admin_view(view, cacheable=cacheable)
        return path(route, view, name=name)

    def url_of(self, page: str, *args: int | str | UUID) -> str:
        return admin_url(self.admin_site, self.opts, page, *args)

    def render_page(
        self, request: HttpRequest, template: str, title: str, **context: Any
    ) -> HttpResponse:
        request.current_app = self.admin_site.name
        page = {
            **self.admin_site.each_context(request),
            "opts": self.opts,
            "title": title,
            "media": self.media,
        }
        return TemplateResponse(request, template, {**page, **context})

    def render_secrets(
        self,
        request: HttpRequest,
        title: str,
        text: str,
        secrets: Sequence[tuple[M, str, M | None]],
    ) -> HttpResponse:
        """Show each row with its secret and the row that it replaces, if any.

        Reloading opens the row or the list.
        """
        if len(secrets) == 1:
            only_row = secrets[0][0]
            reload_url = self.url_of("change", only_row.pk)
        else:
            reload_url = self.url_of("changelist")
        rows = [
            (secret, self.described(row), old and self.link_to(old))
            for row, secret, old in secrets
        ]
        template = "usergroups/admin/secrets.html"
        return self.render_page(
            request, template, title, text=text, rows=rows, reload_url=reload_url
        )

    def link_to(self, row: models.Model, text: str = "") -> str:
        """Return a link to the page of a row of any model.

        It shows the name of the row, or ``text``.
        """
        shown = text or str(row)
        if not self.admin_site.is_registered(type(row)):
            return shown
        address = change_url(self.admin_site, row)
        return format_html('<a href="{}">{}</a>', address, shown)

    def described(self, row: M) -> str:
        """Return one line: a link to the row, and the details of the row."""
        parts = [self.link_to(row), *self.details(row)]
        return format_html_join(" · ", "{}", ([part] for part in parts if part))

    def details(self, row: M) -> list[Any]:
        """Return what Find and the confirmation pages show of a row beside its
        name. Empty values are left out.
        """
        return []
