"""The admin of the operators' accounts."""

from typing import Any

from django import forms
from django.contrib import admin
from django.contrib.admin.models import LogEntry
from django.contrib.auth.admin import UserAdmin
from django.contrib.auth.models import User
from django.http import HttpRequest

from usergroups.admin_tools.changes import ChangesAdmin
from usergroups.admin_tools.input_labels import label_date_and_time
from usergroups.admin_tools.lists import BoundedPaginator

admin.site.unregister(User)
admin.site.register(LogEntry, ChangesAdmin)


@admin.register(User)
class AccountAdmin(UserAdmin):  # type: ignore[type-arg]  # Django's class takes no arguments at run time.
    """Django's admin, with the layout of the other lists and with labels for the inputs of dates and times."""

    change_list_template = "usergroups/admin/change_list.html"
    paginator = BoundedPaginator

    @property
    def media(self) -> forms.Media:
        return super().media + forms.Media(css={"all": ["usergroups/admin.css"]})

    def formfield_for_dbfield(self, db_field: Any, request: HttpRequest, **kwargs: Any) -> Any:
        field: Any = super().formfield_for_dbfield(db_field, request, **kwargs)
        if isinstance(field, forms.SplitDateTimeField):
            label_date_and_time(field)
        return field
