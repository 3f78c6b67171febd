"""The forms of the import and export pages."""

from typing import Any

from django import forms
from django.http import HttpRequest
from django.utils.text import capfirst
from django.utils.translation import gettext_lazy as _

from bookmarks.models import Bookmark
from usergroups.admin_tools.autocomplete import AutocompleteField
from usergroups.admin_tools.context import context_of


class UserGroupForm(forms.Form):
    """A form that begins with the choice of a user group, of which the context of the page is the initial value."""

    def __init__(self, model_admin: Any, request: HttpRequest, data: Any = None, files: Any = None) -> None:
        super().__init__(data, files, initial=model_admin.with_user_group(request, context_of(model_admin, request)))
        field: Any = Bookmark._meta.get_field("user_group")
        user_group = AutocompleteField(field, model_admin.admin_site, label=capfirst(field.verbose_name))
        user_group.widget.query_params = model_admin.limits_of(field.name, request)
        self.fields = {"user_group": user_group, **self.fields}


class FormatForm(forms.Form):
    format = forms.ChoiceField(
        label=_("Format"),
        choices=[("html", _("HTML, for browsers")), ("jsonl", "JSON Lines"), ("csv", "CSV")],
    )


class SeveralGroupsForm(forms.Form):
    """The formats that can name the user group of each bookmark."""

    format = forms.ChoiceField(
        label=_("Format"),
        choices=[("jsonl", "JSON Lines"), ("csv", "CSV")],
        help_text=_(
            "The file also names the team, the environment and the user group of each bookmark. An HTML file cannot, "
            "and is offered only for the bookmarks of one user group."
        ),
    )
