"""Filters for lists of bookmarks and collections."""

from typing import Any

from django.contrib import admin
from django.contrib.admin.options import IncorrectLookupParameters
from django.core.exceptions import ValidationError
from django.http import HttpRequest
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from bookmarks.time_ordered_ids import first_id


class AddedFilter(admin.DateFieldListFilter):
    """Filter by the day on which a row was added, which its id tells. The primary key is an index for this filter."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.title = _("added")

    def queryset(self, request: HttpRequest, queryset: Any) -> Any:
        parameters: Any = self.used_parameters
        for name, values in parameters.items():
            lookup = name.removeprefix(self.field_path)
            for value in values:
                queryset = queryset.filter(**{f"id{lookup}": first_id(self._moment(value))})
        return queryset

    def _moment(self, text: str) -> Any:
        try:
            moment = self.field.to_python(text)
        except ValidationError as error:
            raise IncorrectLookupParameters(error) from error
        return timezone.make_aware(moment) if timezone.is_naive(moment) else moment
