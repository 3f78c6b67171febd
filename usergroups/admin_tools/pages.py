"""Pages of the admin: their addresses, and additional ones."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Generic, TypeVar

from django.contrib import admin
from django.contrib.admin.utils import quote
from django.db import connections, models, transaction
from django.db.models.options import Options
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.template.response import TemplateResponse
from django.urls import URLPattern, path, reverse
from django.utils.html import format_html

from usergroups.csv_cells import escape

from .cells import one_line
from .csv_lists import cell

M = TypeVar("M", bound=models.Model)

if TYPE_CHECKING:
    ModelAdmin = admin.ModelAdmin
else:

    class ModelAdmin(admin.ModelAdmin, Generic[M]):
        """Django's class, which is generic only in its type stubs."""


def admin_url(
    site: admin.AdminSite, opts: "Options[M]", page: str, *args: object
) -> str:
    """Return the address of a page, such as ``"changelist"``, of the model
    with these options.
    """
    name = f"{site.name}:{opts.app_label}_{opts.model_name}_{page}"
    quoted = [quote(str(arg)) for arg in args]
    return reverse(name, args=quoted)


def change_url(site: admin.AdminSite, row: models.Model) -> str:
    """Return the address of the page of a row."""
    return admin_url(site, row._meta, "change", row.pk)


def can_view(
    site: admin.AdminSite, request: HttpRequest, model: type[models.Model]
) -> bool:
    """Return whether the model is registered and the user may view it."""
    if not site.is_registered(model):
        return False
    model_admin = site.get_model_admin(model)
    return model_admin.has_view_permission(request)


def let_browsers_go_back(response: HttpResponse) -> HttpResponse:
    """Let the browser's back button show the response to a POST again, without
    another POST.
    """
    response["Cache-Control"] = "private, no-cache"
    return response


class PagesAdmin(ModelAdmin[M]):
    """An admin with pages that Django's admin does not have."""

    copied_columns: tuple[str, ...] = ()
    """What "Copy all" puts before the secret of a row."""

    def page_path(
        self,
        route: str,
        view: Callable[..., HttpResponseBase],
        page: str,
        cacheable: bool = False,
    ) -> URLPattern:
        """Return the URL pattern of a page, whose address is
        ``url_of(page)``.

        A page that calls ``let_browsers_go_back()`` must be ``cacheable``.

        The pages have their own transactions: under ATOMIC_REQUESTS, an import
        that fails would also roll back what it has already stored, and a
        foreign key with DO_NOTHING would fail after the view.
        """
        name = f"{self.opts.app_label}_{self.opts.model_name}_{page}"
        # The decorator sets an attribute, which a method does not allow.
        own = partial(view)
        for alias in connections:
            own = transaction.non_atomic_requests(alias)(own)
        protected = self.admin_site.admin_view(own, cacheable=cacheable)
        return path(route, protected, name=name)

    def is_row_page(self, request: HttpRequest) -> bool:
        """Return whether the page is about one row of this model, which its
        address names.
        """
        match = request.resolver_match
        if match is None or "object_id" not in match.kwargs:
            return False
        prefix = f"{self.opts.app_label}_{self.opts.model_name}_"
        return str(match.url_name).startswith(prefix)

    def url_of(self, page: str, *args: object) -> str:
        """Return the address of a page of this model."""
        return admin_url(self.admin_site, self.opts, page, *args)

    def render_page(
        self, request: HttpRequest, template: str, title: str, **context: object
    ) -> HttpResponse:
        """Render a template with what all pages of the admin need."""
        # Django's templates reverse URLs in the site with this name.
        request.current_app = self.admin_site.name
        context = {
            **self.admin_site.each_context(request),
            "opts": self.opts,
            "title": title,
            "media": self.media,
            **context,
        }
        return TemplateResponse(request, template, context)

    def render_secrets(
        self,
        request: HttpRequest,
        title: str,
        text: str,
        secrets: Sequence[tuple[M, str, M | None]],
    ) -> HttpResponse:
        """Show each row with its secret and the row that it replaces, if any.

        The page leads back to the owner if it is the only one.
        """
        rows = []
        lines = []
        for row, secret, old in secrets:
            rows.append((secret, self.described(row), old and self.link_to(old)))
            cells = [cell(self, row, name) for name in self.copied_columns]
            # A cell must not contain tabs or line breaks.
            cells = [" ".join(text.split()) for text in [*cells, secret]]
            lines.append("\t".join(map(escape, cells)))
        owners = {self.holder_of_secret(row) for row, _secret, _old in secrets}
        return self.render_page(
            request,
            "usergroups/admin/secrets.html",
            title,
            text=text,
            rows=rows,
            copied="\n".join(lines),
            owner_link=self.link_to(owners.pop()) if len(owners) == 1 else "",
        )

    def parents_of(self, row: M) -> list[models.Model]:
        """Return the rows that the breadcrumbs of a row lead to."""
        return []

    def holder_of_secret(self, row: M) -> models.Model:
        """Return the row that has the secret of this one, such as the team of
        an API token. The page of the secret leads back to it.
        """
        return row

    def link_to(self, row: models.Model, text: str = "") -> str:
        """Return a link to the page of a row of any model, or only its text if
        the model is not registered.

        The text is the name of the row, unless ``text`` is given.
        """
        text = text or str(row)
        if not self.admin_site.is_registered(type(row)):
            return text
        address = change_url(self.admin_site, row)
        return format_html('<a href="{}">{}</a>', address, text)

    def described(self, row: M) -> str:
        """Return one line: a link to the row, and the details of the row."""
        return one_line([self.link_to(row), *self.details(row)])

    def details(self, row: M) -> list[object]:
        """Return what Find and the confirmation pages show of a row beside its
        name. Empty values are left out.
        """
        return []
