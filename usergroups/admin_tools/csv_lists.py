"""Lists as CSV files."""

import re
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from html import unescape
from typing import TYPE_CHECKING, Any

from django.contrib.admin.utils import label_for_field, lookup_field
from django.contrib.admin.views.main import ChangeList
from django.http import HttpRequest
from django.utils import timezone
from django.utils.html import strip_tags
from django.utils.text import capfirst, slugify
from django.utils.translation import override

from usergroups.csv_cells import csv_line

from .autocomplete import AutocompleteFilter

if TYPE_CHECKING:
    from .lists import OperatorListAdmin

CHUNK = 200
"""The number of rows that are in memory at the same time."""

# as ``time_element()`` returns it
TIME = re.compile(r'<time datetime="(?P<exact>[^"]+)"')

BYTE_ORDER_MARK = "\ufeff"
"""Without it, Excel does not recognize UTF-8."""


def csv_lines(
    model_admin: "OperatorListAdmin[Any]", request: HttpRequest, keys: Sequence[Any]
) -> Iterator[str]:
    """Yield the lines of a file with the columns of the list, after the key,
    and with the rows that have these keys and still exist.
    """
    key_name = model_admin.opts.pk.name
    # without repetitions
    names = list(dict.fromkeys([key_name, *model_admin.get_list_display(request)]))
    labels = []
    for name in names:
        label: Any = label_for_field(name, model_admin.model, model_admin)
        labels.append(str(capfirst(label)))
    yield BYTE_ORDER_MARK + csv_line(labels)
    all_rows = model_admin.get_queryset(request)
    related: Any = model_admin.get_list_select_related(request)
    # Without names, select_related() would load all related rows.
    if related:
        all_rows = all_rows.select_related(*related)
    for start in range(0, len(keys), CHUNK):
        chunk = keys[start : start + CHUNK]
        found = all_rows.in_bulk(chunk)
        rows = [found[key] for key in chunk if key in found]
        model_admin.complete_rows(request, rows)
        for row in rows:
            yield csv_line(cell(model_admin, row, name) for name in names)


def in_language(language: str | None, lines: Iterator[str]) -> Iterator[str]:
    """Yield lines in this language, also after the middleware has reset the
    language of the request.
    """
    while True:
        with override(language):
            line = next(lines, None)
        if line is None:
            return
        yield line


def cell(model_admin: "OperatorListAdmin[Any]", row: Any, name: str) -> str:
    """Return the text of a cell: what the list shows, without markup, and
    times in ISO 8601.
    """
    _field, _attribute, value = lookup_field(name, row, model_admin)
    if value is None:
        return ""
    if isinstance(value, datetime):
        return value.astimezone(UTC).isoformat()
    # HTML
    if hasattr(value, "__html__"):
        time = TIME.search(value)
        if time:
            return time["exact"]
        spaced = value.replace("<", " <")
        text = unescape(strip_tags(spaced))
        return " ".join(text.split())
    return str(value)


def file_name(changes: ChangeList) -> str:
    """Return the name of the file: the team or other rows by which the list is
    filtered, the kind of its rows, and the date.
    """
    parts = []
    for spec in changes.filter_specs:
        if isinstance(spec, AutocompleteFilter):
            parts.append(spec.chosen_name())
    parts.append(str(changes.opts.verbose_name_plural))
    parts.append(timezone.now().date().isoformat())
    return f"{slugify(' '.join(parts))}.csv"
