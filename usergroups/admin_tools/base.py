"""The base class of the admins of the apps' models, and a decorator for
actions that ask for confirmation.
"""

from collections.abc import Callable, Sequence
from copy import copy
from functools import partial, wraps
from typing import Any, ClassVar

from django import forms
from django.contrib import admin, messages
from django.contrib.admin.models import LogEntry
from django.contrib.admin.options import get_content_type_for_model
from django.contrib.admin.utils import flatten_fieldsets, get_fields_from_path, unquote
from django.contrib.admin.views.main import ERROR_FLAG, PAGE_VAR
from django.contrib.humanize.templatetags.humanize import intcomma
from django.core.exceptions import PermissionDenied
from django.db import connections, models, router, transaction
from django.http import HttpRequest, HttpResponse, QueryDict
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.urls import URLPattern, path
from django.utils import timezone
from django.utils.functional import Promise
from django.utils.html import format_html_join
from django.utils.http import urlencode
from django.utils.translation import gettext, ngettext
from django.utils.translation import gettext_lazy as _

from usergroups.db import deletion
from usergroups.db.retry import retry_on_conflict
from usergroups.signals import acting_as

from .forms import (
    OperatorForm,
    SingleLineField,
    autocomplete_field,
    changed_values,
    is_valid_value,
)
from .lists import (
    MAX_LISTED,
    UNUSABLE,
    OperatorListAdmin,
    admin_url,
    bounded_count,
    can_view,
    display_rows,
    values_of,
)

FILTERS_PARAM = "_changelist_filters"
"""Django's query parameter that holds the query string of the list from which
a page was opened.
"""

MAX_DESCRIBED = 20  # rows that a confirmation page or a message names


class ConfirmationForm(forms.Form):
    """The form on a confirmation page, with what the page shows of the rows
    that the action will change.
    """

    max_rows: ClassVar[int] = 1_000
    """The maximum number of rows that the action changes.

    They are locked until it ends.
    """

    def __init__(self, model_admin: Any, request: HttpRequest, rows: list[Any]) -> None:
        super().__init__(request.POST if request.method == "POST" else None)
        # why the action cannot be performed on these rows
        self.refusals: list[str] = []
        # There may be more rows.
        self.limit = intcomma(self.max_rows) if len(rows) == self.max_rows else ""
        self.descriptions = [model_admin.described(row) for row in rows[:MAX_DESCRIBED]]
        if others := len(rows[MAX_DESCRIBED:]):
            text = ngettext("and %(number)s more", "and %(number)s more", others)
            self.descriptions.append(text % {"number": intcomma(others)})


class DeletionForm(ConfirmationForm):
    """The form of a deletion, with the numbers of related rows.

    Detached ones may be duplicates, which are deleted.
    """

    max_rows = MAX_LISTED

    def __init__(self, model_admin: Any, request: HttpRequest, rows: list[Any]) -> None:
        super().__init__(model_admin, request, rows)
        self.note = model_admin.deletion_note
        self.counts = {str(model_admin.opts.verbose_name_plural): intcomma(len(rows))}
        # by model, which several foreign keys may lead to
        dependants: dict[Any, models.QuerySet[Any]] = {}
        for each in model_admin.get_queryset(request).dependants(
            [row.pk for row in rows]
        ):
            dependants[each.model] = (
                dependants[each.model] | each if each.model in dependants else each
            )
        limit = deletion.MAX_DEPENDANTS
        for model, related in dependants.items():
            number, site = related[: limit + 1].count(), model_admin.admin_site
            if number and (
                not site.is_registered(model) or can_view(site, request, model)
            ):
                self.counts[str(model._meta.verbose_name_plural)] = intcomma(number)
            if (
                number
                and site.is_registered(model)
                and not site.get_model_admin(model).has_delete_permission(request)
            ):
                text = gettext("You do not have permission to delete: %(name)s.")
                self.refusals.append(text % {"name": model._meta.verbose_name})
            if number > limit:
                text = gettext(
                    "More than %(rows)s. Delete them first, or run manage.py "
                    "delete_object %(model)s ID."
                )
                shown = {
                    "rows": display_rows(limit, model._meta),
                    "model": model_admin.opts.label,
                }
                self.refusals.append(text % shown)


def requires_confirmation(
    title: str | Promise,
    text: str | Promise,
    form_class: type[ConfirmationForm] = ConfirmationForm,
) -> Callable[[Callable[..., Any]], Any]:
    """Decorate an admin action to ask for confirmation before it runs.

    The page that asks shows ``title`` and ``text``. In the title, ``%(rows)s``
    stands for text such as "3 bookmarks". The action runs in a transaction. It
    receives the confirmed rows that still exist, as a queryset that locks
    them, and the values of ``form_class`` as keyword arguments. It returns a
    response, or a message to show.
    """

    def decorate(action: Callable[..., HttpResponse | str]) -> Any:
        @wraps(action)
        def ask(
            model_admin: Any, request: HttpRequest, queryset: models.QuerySet[Any]
        ) -> HttpResponse:
            """Redirect to the confirmation page.

            After "Select all", it gets the filters of the list and no keys.
            """
            query = {"action": action.__name__, FILTERS_PARAM: request.GET.urlencode()}
            if request.POST.get("select_across") != "1":
                query["keys"] = ",".join(
                    str(key) for key in queryset.values_list("pk", flat=True)
                )
            return redirect(f"{model_admin.url_of('confirm')}?{urlencode(query)}")

        ask.confirmation = (action, title, text, form_class)  # type: ignore[attr-defined]
        return ask

    return decorate


class OperatorAdmin(OperatorListAdmin):
    """An admin that stays fast with many rows, asks before irreversible
    actions and links to related rows.

    It reads from the database for writes, so that operators never act on the
    state of a replica that lags behind. It writes only the changed fields.
    """

    change_form_template = "usergroups/admin/change_form.html"
    form = OperatorForm
    formfield_overrides: ClassVar[Any] = {
        models.CharField: {"strip": False, "form_class": SingleLineField}
    }
    actions: Any = ("delete_selected",)

    list_select_related: ClassVar[tuple[str, ...]] = ()
    deletion_note: ClassVar[str | Promise] = ""
    """What the confirmation of a deletion says besides the numbers of rows."""
    deferred_fields: ClassVar[tuple[str, ...]] = ()
    """Large fields that only the change page loads."""
    object_actions: ClassVar[dict[str, str | Promise]] = {}
    """The names of the actions that have a button on the change page, and the
    labels of the buttons.
    """
    find_fields: ClassVar[tuple[str, ...]] = ()
    """The fields that the page Find searches for a value equal to the text or,
    in text fields, containing it.
    """
    secret_prefix: str = ""
    """The prefix of the secrets that identify a row, if any."""

    def get_urls(self) -> list[URLPattern]:
        return [
            self.page_path("confirm/", self.confirm_view, "confirm"),
            *super().get_urls(),
        ]

    def page_path(self, route: str, view: Any, page: str) -> URLPattern:
        """Return the pattern of a page that Django's admin does not have.

        ``url_of(page)`` is its address.
        """
        name = f"{self.opts.app_label}_{self.opts.model_name}_{page}"
        pattern: URLPattern = path(route, self.admin_site.admin_view(view), name=name)
        return pattern

    def url_of(self, page: str, *args: Any) -> str:
        return admin_url(self.admin_site, self.opts, page, *args)

    def render_page(
        self, request: HttpRequest, template: str, title: str, **context: Any
    ) -> HttpResponse:
        """Render a page that Django's admin does not have."""
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
        secrets: Sequence[tuple[Any, str, Any]],
    ) -> HttpResponse:
        """Show each row with its secret and the row that it replaces, if any.

        Reloading opens the row or the list.
        """
        reload_url = (
            self.url_of("change", secrets[0][0].pk)
            if len(secrets) == 1
            else self.url_of("changelist")
        )
        rows = [
            (secret, self.described(row), old and self.link_to(old))
            for row, secret, old in secrets
        ]
        template = "usergroups/admin/secrets.html"
        return self.render_page(
            request, template, title, text=text, rows=rows, reload_url=reload_url
        )

    # Lists

    def get_queryset(self, request: HttpRequest) -> models.QuerySet[Any]:
        queryset = super().get_queryset(request).using(router.db_for_write(self.model))
        # on every page, because loading related rows later might read from a
        # replica
        if self.list_select_related:
            queryset = queryset.select_related(*self.list_select_related)
        is_change_page = (
            request.resolver_match and "object_id" in request.resolver_match.kwargs
        )
        return queryset if is_change_page else queryset.defer(*self.deferred_fields)

    def lookup_allowed(self, lookup: str, value: str, request: HttpRequest) -> bool:
        """Allow only the lookups of ``list_filter``.

        Others could reveal hidden values, such as tokens.
        """
        if not super().lookup_allowed(lookup, value, request):
            return False
        filters = [
            each[0] if isinstance(each, tuple) else each
            for each in self.get_list_filter(request)
        ]
        offered = [getattr(each, "parameter_name", each) for each in filters]
        return any(f"{lookup}__".startswith(f"{name}__") for name in offered)

    # Forms

    def formfield_for_foreignkey(
        self, db_field: Any, request: HttpRequest, **kwargs: Any
    ) -> Any:
        if db_field.name in self.get_autocomplete_fields(request):
            return autocomplete_field(db_field, self.admin_site)
        return super().formfield_for_foreignkey(db_field, request, **kwargs)

    def save_model(
        self, request: HttpRequest, obj: models.Model, form: Any, change: bool
    ) -> None:
        if not change:
            super().save_model(request, obj, form, change)
        elif form.changed_data:
            changed = [*form.changed_data]
            if hasattr(obj, "updated_at"):
                obj.updated_at = timezone.now()
                changed.append("updated_at")
            obj.save(update_fields=changed)

    def construct_change_message(
        self, request: HttpRequest, form: Any, formsets: Any, add: bool = False
    ) -> Any:
        message: Any = super().construct_change_message(request, form, formsets, add)
        if not add and form.changed_data:
            message[0]["changed"]["values"] = changed_values(form)
        return message

    def get_object(
        self, request: HttpRequest, object_id: str, from_field: str | None = None
    ) -> Any:
        obj = super().get_object(request, object_id, from_field)
        if (
            obj is None
            or request.method != "POST"
            or not connections[obj._state.db].in_atomic_block
        ):
            return obj
        # Lock the row until it is saved.
        return (
            self.get_queryset(request)
            .select_for_update(of=("self",))
            .filter(pk=obj.pk)
            .first()
        )

    def changeform_view(self, request: HttpRequest, *args: Any, **kwargs: Any) -> Any:
        view = partial(super().changeform_view, request, *args, **kwargs)
        if request.method != "POST":
            return view()
        # After a conflict, validation finds what the other transaction has
        # committed, and the form shows the error.
        with acting_as(request.user):
            return retry_on_conflict(view, router.db_for_write(self.model))

    def message_user(self, request: HttpRequest, *args: Any, **kwargs: Any) -> None:
        # Add the message on commit, so that a rolled-back attempt leaves none.
        add_message = partial(super().message_user, request, *args, **kwargs)
        transaction.on_commit(add_message, using=router.db_for_write(self.model))

    def render_change_form(
        self, request: HttpRequest, context: Any, *args: Any, **kwargs: Any
    ) -> HttpResponse:
        context["show_save_and_add_another"] = False
        obj = context.get("original")
        if obj is not None:
            if request.method == "GET":
                self.restore(request, obj, context["adminform"].form)
            context |= {
                "related": self.get_related(request, obj),
                "buttons": self.get_buttons(request, obj),
            }
        return super().render_change_form(request, context, *args, **kwargs)

    def get_related(self, request: HttpRequest, obj: Any) -> list[dict[str, Any]]:
        """Return a summary of each list that the user may view and that has an
        AutocompleteFilter for this row.
        """
        related = []
        for model in self.opts.apps.get_models():
            other = (
                self.admin_site.get_model_admin(model)
                if can_view(self.admin_site, request, model)
                else None
            )
            if not isinstance(other, OperatorAdmin):
                continue
            filters: list[Any] = [
                each
                for each in other.get_list_filter(request)
                if isinstance(each, tuple)
            ]
            for field_path, _filter in filters:
                if (
                    get_fields_from_path(model, field_path)[-1].related_model
                    is self.model
                ):
                    summary = other.related_list(
                        request, {f"{field_path}__{self.opts.pk.name}__exact": obj.pk}
                    )
                    related.append(
                        {
                            **summary,
                            "links": other.get_related_links(request, field_path, obj),
                        }
                    )
        return related

    def related_list(
        self, request: HttpRequest, query: dict[str, Any]
    ) -> dict[str, Any]:
        """Return the name, the number of rows and the address of this list
        with these filters.
        """
        number = bounded_count(self.get_queryset(request).filter(**query))
        return {
            "name": str(self.opts.verbose_name_plural),
            "count": intcomma(number) + ("+" if number == MAX_LISTED else ""),
            "url": f"{self.url_of('changelist')}?{urlencode(query)}",
        }

    def get_related_links(
        self, request: HttpRequest, field_path: str, obj: Any
    ) -> list[tuple[str, str]]:
        """Return labels and URLs of links such as "Add bookmark here", which
        open a form with ``obj`` in the field.
        """
        if not self.has_add_permission(request) or field_path not in flatten_fieldsets(
            self.get_fieldsets(request)
        ):
            return []
        text = gettext("Add %(name)s here") % {"name": self.opts.verbose_name}
        return [(text, f"{self.url_of('add')}?{urlencode({field_path: obj.pk})}")]

    def get_buttons(
        self, request: HttpRequest, obj: Any
    ) -> list[tuple[str, str | Promise]]:
        """Return the names and labels of the actions that are available for
        the row.
        """
        actions = self.get_actions(request)
        return [
            (name, label)
            for name, label in self.object_actions.items()
            if name in actions
        ]

    # Actions

    def confirm_view(self, request: HttpRequest) -> HttpResponse:
        """Ask for confirmation of an action, and run it when the form is
        submitted.
        """
        name = request.GET.get("action", "")
        if name not in self.get_actions(request) or not hasattr(
            getattr(self, name, None), "confirmation"
        ):
            raise PermissionDenied
        action, title, text, form_class = getattr(self, name).confirmation
        try:
            rows = self.get_queryset(request).filter(
                pk__in=self.chosen_keys(request, form_class.max_rows)
            )
            found = list(rows)
        except UNUSABLE:  # A filter or a key has a malformed value.
            return redirect(f"{self.url_of('changelist')}?{ERROR_FLAG}=1")
        if not found:
            messages.info(
                request,
                gettext("The selected rows no longer exist. Nothing was changed."),
            )
            return redirect(self.origin(request, []))
        form = form_class(self, request, found)
        if form.refusals or not form.is_valid():
            title %= {"rows": display_rows(len(found), self.opts)}
            context = {
                "form": form,
                "rows": found,
                "text": text,
                "origin": self.origin(request, found),
            }
            return self.render_page(
                request, "usergroups/admin/confirmation.html", title, **context
            )
        locked = rows.order_by("pk").select_for_update(of=("self",))
        with acting_as(request.user):
            outcome = retry_on_conflict(
                lambda: action(self, request, locked.all(), **form.cleaned_data),
                rows.db,
            )
        if isinstance(outcome, HttpResponse):
            return outcome
        messages.info(request, outcome)
        return redirect(
            self.origin(request, [] if form_class is DeletionForm else found)
        )

    def chosen_keys(self, request: HttpRequest, max_rows: int) -> list[Any]:
        """Return the first keys of the confirmed rows, or else of the selected
        rows, or else of the filtered list.
        """
        text = request.POST.get("confirmed", request.GET.get("keys"))
        if text is not None:
            return [
                key
                for key in text.split(",")[:max_rows]
                if is_valid_value(self.opts.pk, key)
            ]
        list_request: Any = copy(request)
        list_request.GET = QueryDict(request.GET.get(FILTERS_PARAM, ""), mutable=True)
        list_request.GET.pop(PAGE_VAR, None)
        return list(
            self.get_changelist_instance(list_request).queryset.values_list(
                "pk", flat=True
            )[:max_rows]
        )

    def origin(self, request: HttpRequest, rows: list[Any]) -> str:
        """Return the address from which the action was started: that of the
        page of a row, or of the filtered list.
        """
        # The action was started on the page of a row.
        if "page" in request.GET and rows:
            return self.url_of("change", rows[0].pk)
        return (
            f"{self.url_of('changelist')}?{request.GET.get(FILTERS_PARAM, '')}".rstrip(
                "?"
            )
        )

    def described(self, row: Any) -> str:
        """Return one line: a link to the row, and the details of the row."""
        parts = [self.link_to(row), *self.details(row)]
        return format_html_join(" · ", "{}", ([part] for part in parts if part))

    def details(self, row: Any) -> list[Any]:
        """Return what Find and the confirmation pages show of a row beside its
        name. Empty values are left out.
        """
        return []

    @admin.action(
        description=_("Delete selected %(verbose_name_plural)s"),
        permissions=["delete"],
    )
    @requires_confirmation(
        _("Delete %(rows)s"),
        _("The following is affected. This cannot be undone."),
        DeletionForm,
    )
    def delete_selected(
        self, request: HttpRequest, queryset: models.QuerySet[Any]
    ) -> str:
        rows: Any = list(queryset)
        try:
            self.delete_queryset(request, queryset)
        except (models.ProtectedError, models.RestrictedError) as error:
            names = ", ".join(
                f"{blocker._meta.verbose_name} {blocker}"
                for blocker in [*error.args[1]][:MAX_DESCRIBED]
            )
            return gettext(
                "Nothing was deleted, because these objects prevent it: %(names)s."
            ) % {"names": names}
        self.log_deletions(request, rows)
        return gettext("Deleted %(rows)s.") % {
            "rows": display_rows(len(rows), self.opts)
        }

    def delete_view(
        self, request: HttpRequest, object_id: str, extra_context: Any = None
    ) -> HttpResponse:
        query: Any = request.GET.copy()
        query.update(
            {"action": "delete_selected", "keys": unquote(object_id), "page": "1"}
        )
        # the same parameters as those that the buttons of the change page send
        request.GET = query
        return self.confirm_view(request)

    # History

    def history_view(
        self, request: HttpRequest, object_id: str, extra_context: Any = None
    ) -> HttpResponse:
        """Redirect to the list of all changes, filtered by the row, if the
        user may view that list.
        """
        if not can_view(self.admin_site, request, LogEntry):
            return super().history_view(request, object_id, extra_context)
        query: Any = {
            "content_type": get_content_type_for_model(self.model).pk,
            "object_id": unquote(object_id),
        }
        history = admin_url(self.admin_site, LogEntry._meta, "changelist")
        return redirect(f"{history}?{urlencode(query)}")

    def restore(self, request: HttpRequest, obj: models.Model, form: Any) -> None:
        """Fill the form with the old values of the history entry that the
        query parameter ``restore`` names, if any.
        """
        key = request.GET.get("restore")
        if not key or not is_valid_value(LogEntry._meta.pk, key):
            return
        entries = LogEntry.objects.filter(
            content_type=get_content_type_for_model(obj), object_id=str(obj.pk), pk=key
        )
        for field, old, _new in (
            change for entry in entries for change in values_of(entry)
        ):
            if field.name in form.fields:
                # Keep the current value in the hidden input, so that the old
                # one counts as a change when it is saved.
                form.open_with(
                    field.name,
                    form.fields[field.name].prepare_value(form.initial[field.name]),
                )
                form.initial[field.name] = (
                    old["key"] if old and field.is_relation else old
                )

    # Find

    def with_secrets(self, secrets: list[str]) -> models.Q:
        """Return the condition that one of these secrets, which begin with
        ``secret_prefix``, identifies the row.
        """
        return models.Q()  # Find returns no rows for an empty condition.

    def matching(self, text: str, lookup: str) -> models.Q:
        """Return the condition that a field equals the text (``lookup``
        "exact") or contains it ("icontains").

        Find passes the secrets in a text to ``with_secrets`` instead.
        """
        fields: list[Any] = [self.opts.get_field(name) for name in self.find_fields]
        lookups = []
        for field in fields:
            if is_valid_value(field, text) and (
                lookup == "exact" or isinstance(field, models.CharField)
            ):
                lookups.append((f"{field.name}__{lookup}", text))
        return models.Q(*lookups, _connector=models.Q.OR)
