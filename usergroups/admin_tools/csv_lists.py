"""Lists as CSV files."""

import re
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from html import unescape
from typing import Any

from django.contrib.admin.utils import label_for_field, lookup_field
from django.contrib.admin.views.main import ChangeList
from django.utils.html import strip_tags
from django.utils.text import capfirst
from django.utils.translation import override

from usergroups.csv_cells import csv_line

CHUNK = 200
"""The number of rows that are in memory at the same time."""

# as ``time_element()`` returns it
TIME = re.compile(r'<time datetime="(?P<exact>[^"]+)"')

BYTE_ORDER_MARK = "\ufeff"
"""Without it, Excel does not recognize UTF-8."""


def csv_lines(
    changes: ChangeList, keys: Sequence[object], language: str | None
) -> Iterator[str]:
    """Yield the lines of a file with the columns of the list, after the key,
    and with the rows that have these keys and still exist.

    The middleware has reset the language of the request when they are read.
    """
    model_admin = changes.model_admin
    # without repetitions
    names = list(dict.fromkeys([changes.opts.pk.name, *changes.list_display]))
    if "action_checkbox" in names:
        names.remove("action_checkbox")
    with override(language):
        labels = [
            str(capfirst(str(label_for_field(name, changes.model, model_admin))))
            for name in names
        ]
    yield BYTE_ORDER_MARK + csv_line(labels)
    # Without the conditions of a search, which would be checked for each chunk.
    all_rows = changes.apply_select_related(changes.root_queryset)
    for start in range(0, len(keys), CHUNK):
        chunk = keys[start : start + CHUNK]
        found = all_rows.in_bulk(chunk)
        with override(language):
            lines = [
                csv_line(cell(model_admin, found[key], name) for name in names)
                for key in chunk
                if key in found
            ]
        yield from lines


def cell(model_admin: Any, row: Any, name: str) -> str:
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
