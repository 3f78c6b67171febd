"""Lists of bookmarks by conditions that no index supports in the order of the
list, such as those of a text or of tags.

In the worst case, a search takes time in proportion to the length of the text
times the length of the query. A call therefore searches a limited amount of
text.
"""

from collections.abc import Mapping

from django.db.models import Q, Value
from django.db.models.expressions import Combinable

from bookmarks import letter_case
from bookmarks.querysets.batch_writes import LARGE_FIELDS
from usergroups.api.pagination import CREATED, UPDATED
from usergroups.db.stored_json import StoredSize

MAX_QUERY_LENGTH = 100  # characters

WITHOUT_INDEX = {
    CREATED: ("q", "tag"),
    UPDATED: ("q", "tag", "collection", "created_since"),
}
"""The filters that no index supports in the order by each time field."""


def searched_size(filters: Mapping[str, object]) -> Combinable:
    """Return the number of bytes to search in a bookmark."""
    size: Combinable = Value(0)
    if "q" in filters:
        size += StoredSize(*LARGE_FIELDS)
    tags = filters.get("tag")
    if isinstance(tags, list):
        size += StoredSize("tags") * len(tags)
    return size


def has_text(text: str) -> Q:
    """Return the condition that a bookmark has the text, in any letter case."""
    found = [
        Q((f"{name}__regex", letter_case.pattern(text)))
        for name in fields_to_search(text)
    ]
    return Q(*found, _connector=Q.OR)


def fields_to_search(text: str) -> list[str]:
    """Return the names of the fields that may contain this text.

    A line break separates tags, and is not part of any.
    """
    return [name for name in LARGE_FIELDS if name != "tags" or "\n" not in text]


def has_tag_with_prefix(prefix: str) -> Q:
    """Return the condition that a tag of a bookmark begins with this text, in
    any letter case.
    """
    return Q(tags__regex=rf"(^|\n){letter_case.pattern(prefix)}")


def has_tag(tag: str) -> Q:
    """Return the condition that a bookmark has the tag, in any letter case."""
    return Q(tags__regex=rf"(^|\n){letter_case.pattern(tag)}(\n|$)")
