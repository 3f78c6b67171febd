"""Deletions, with a confirmation that counts what is deleted as well."""

from collections.abc import Iterable, Sequence
from typing import Any, ClassVar

from django.contrib import admin
from django.contrib.admin.utils import unquote
from django.contrib.humanize.templatetags.humanize import intcomma
from django.db import models
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse, QueryDict
from django.utils.functional import Promise
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from usergroups.db import deletion

from .confirmations import (
    MAX_DESCRIBED,
    ConfirmationForm,
    ConfirmingAdmin,
    requires_confirmation,
)
from .model_admin import M, ModelAdmin
from .paginator import MAX_LISTED, display_rows


class DeletionForm(ConfirmationForm):
    """The form of a deletion, with the numbers of related rows.

    Detached ones may be duplicates, which are deleted.
    """

    max_rows = MAX_LISTED

    def __init__(
        self,
        model_admin: "DeletingAdmin[Any]",
        request: HttpRequest,
        rows: Sequence[Any],
        data: QueryDict | None = None,
    ) -> None:
        super().__init__(model_admin, request, rows, data)
        self.note = model_admin.deletion_note
        self.counts = {str(model_admin.opts.verbose_name_plural): intcomma(len(rows))}
        queryset: Any = model_admin.get_queryset(request)
        querysets = queryset.dependants([row.pk for row in rows])
        for dependants in united_by_model(querysets):
            self.count(model_admin, request, dependants)

    def count(
        self,
        model_admin: "DeletingAdmin[Any]",
        request: HttpRequest,
        dependants: QuerySet[Any],
    ) -> None:
        """Add the number of these rows, if the user may know it, and the
        reasons not to delete them.
        """
        limit = deletion.MAX_DEPENDANTS
        number = dependants[: limit + 1].count()
        if not number:
            return
        opts = dependants.model._meta
        own_admin = admin_of(model_admin.admin_site, dependants.model)
        if own_admin is None or own_admin.has_view_permission(request):
            self.counts[str(opts.verbose_name_plural)] = intcomma(number)
        if own_admin is not None and not own_admin.has_delete_permission(request):
            text = gettext("You do not have permission to delete: %(name)s.")
            self.refusals.append(text % {"name": opts.verbose_name})
        if number > limit:
            text = gettext(
                "More than %(rows)s. Delete them first, or run manage.py "
                "delete_object %(model)s ID."
            )
            shown = display_rows(limit, opts)
            values = {"rows": shown, "model": model_admin.opts.label}
            self.refusals.append(text % values)


def united_by_model(querysets: Iterable[QuerySet[Any]]) -> list[QuerySet[Any]]:
    """Return one queryset for each model, which several foreign keys may lead
    to.
    """
    united: dict[type[models.Model], QuerySet[Any]] = {}
    for rows in querysets:
        if rows.model in united:
            united[rows.model] |= rows
        else:
            united[rows.model] = rows
    return list(united.values())


def admin_of(
    site: admin.AdminSite, model: type[models.Model]
) -> ModelAdmin[Any] | None:
    """Return the admin of a model, or None if the model is not registered."""
    return site.get_model_admin(model) if site.is_registered(model) else None


class DeletingAdmin(ConfirmingAdmin[M]):
    """An admin that deletes rows with the action ``delete_selected`` only."""

    actions: Any = ("delete_selected",)
    deletion_note: ClassVar[str | Promise] = ""
    """What the confirmation of a deletion says besides the numbers of rows."""

    @admin.action(
        description=_("Delete selected %(verbose_name_plural)s"),
        permissions=["delete"],
    )
    @requires_confirmation(
        _("Delete %(rows)s"),
        _("The following is affected. This cannot be undone."),
        DeletionForm,
    )
    def delete_selected(self, request: HttpRequest, queryset: QuerySet[M]) -> str:
        rows = list(queryset)
        try:
            self.delete_queryset(request, queryset)
        except (models.ProtectedError, models.RestrictedError) as error:
            # Both have the rows as their second argument.
            blockers = list(error.args[1])[:MAX_DESCRIBED]
            names = [f"{row._meta.verbose_name} {row}" for row in blockers]
            text = gettext(
                "Nothing was deleted, because these objects prevent it: %(names)s."
            )
            return text % {"names": ", ".join(names)}
        self.log_deletions(request, rows)  # type: ignore[arg-type]
        shown = display_rows(len(rows), self.opts)
        return gettext("Deleted %(rows)s.") % {"rows": shown}

    def delete_view(
        self,
        request: HttpRequest,
        object_id: str,
        extra_context: dict[str, Any] | None = None,
    ) -> HttpResponse:
        keys = unquote(object_id)
        query = {"action": "delete_selected", "keys": keys, "page": "1"}
        return self.confirm(request, {**request.GET.dict(), **query})
