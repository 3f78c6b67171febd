"""An export of a group, imported into an empty group and exported again, has
the same bytes.
"""

import io
from datetime import UTC, datetime
from functools import reduce
from uuid import uuid4

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bookmarks import exports, imports
from bookmarks.files import EXPORT_FORMATS, read
from bookmarks.files.folder_paths import path_in_folder
from bookmarks.files.records import Record
from bookmarks.models import MAX_COLLECTION_NAME_LENGTH, Bookmark, Collection
from tests.bookmarks.factories import BookmarkFactory, CollectionFactory
from tests.bookmarks.imports import imported
from tests.usergroups.factories import UserGroupFactory

URL = "https://example.com/"
TIME = datetime(2020, 2, 29, 12, tzinfo=UTC)


def exported(user_group, file_format):
    return b"".join(exports.write(exports.load(user_group), file_format)).decode()


def import_into_new_group(file_format, text):
    """Import a file into a new user group, check that nothing is refused or
    left out, and return the user group.
    """
    user_group = UserGroupFactory()
    report = imported(user_group, read(io.BytesIO(text.encode()), file_format))
    assert report.refusals == []
    return user_group


def names(user_group):
    collections = Collection.objects.filter(user_group=user_group).order_by(
        "created_at", "pk"
    )
    return list(collections.values_list("name", flat=True))


def stored(user_group):
    rows = Bookmark.objects.filter(user_group=user_group).order_by("pk")
    return list(
        rows.values_list(
            "url", "title", "collection__name", "created_at", "tags", "note"
        )
    )


def fill(user_group, collections):
    """Create collections with these names and numbers of bookmarks, in this
    order. None stands for no collection.
    """
    for name, size in collections:
        collection = name and CollectionFactory(user_group=user_group, name=name)
        for number in range(size):
            BookmarkFactory(
                user_group=user_group,
                collection=collection,
                url=f"{URL}{number}",
                title=str(number),
                created_at=TIME,
            )


folder_names = st.text("A/ \r\n<&é\t\"'~", min_size=1, max_size=12)
paths = st.lists(folder_names, min_size=1, max_size=4).map(
    lambda path: reduce(path_in_folder, path, "")
)
long_names = st.just("a / b" * (MAX_COLLECTION_NAME_LENGTH // 5))
name_and_size = st.tuples(
    st.none() | folder_names | paths | long_names, st.integers(0, 2)
)


@pytest.mark.parametrize("file_format", EXPORT_FORMATS)
@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    collections=st.lists(name_and_size, max_size=4, unique_by=lambda pair: pair[0]),
    rows_per_page=st.integers(1, 3),
    rows_per_transaction=st.integers(1, 3),
)
def test_a_round_trip_keeps_the_order_of_collections_and_bookmarks(
    db, file_format, collections, rows_per_page, rows_per_transaction
):
    user_group = UserGroupFactory()
    fill(user_group, collections)
    # With these numbers, a collection may span several pages of the export and
    # several transactions of the import.
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(exports, "PAGE_SIZE", rows_per_page)
        patch.setattr(imports, "ROWS_PER_TRANSACTION", rows_per_transaction)
        text = exported(user_group, file_format)

        copy = import_into_new_group(file_format, text)

        assert names(copy) == [name for name, _ in collections if name]
        assert exported(copy, file_format) == text


special = st.sampled_from("a\"',;=+-@\t\r\n \u2028\u0085\x0b\x1c{}[]\\\ufeff")
text = st.text(
    special | st.characters(codec="utf-8", exclude_characters="\0"), max_size=20
)
moments = st.datetimes(timezones=st.just(UTC)).filter(
    lambda moment: moment < datetime(2026, 1, 1, tzinfo=UTC)
)


@pytest.mark.parametrize("file_format", EXPORT_FORMATS)
@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    values=st.fixed_dictionaries(
        {
            "title": text,
            "collection": st.none() | text.filter(len),
            "created_at": moments.map(datetime.isoformat),
            "tags": st.lists(text.map(lambda tag: tag.replace(",", "|")), max_size=4),
            "note": text,
        }
    )
)
def test_a_round_trip_keeps_any_text_and_time(db, file_format, values):
    user_group = UserGroupFactory()
    imported(user_group, [Record(1, f"{URL}{uuid4()}", **values)])

    copy = import_into_new_group(file_format, exported(user_group, file_format))

    assert stored(copy) == stored(user_group)


@pytest.mark.parametrize("file_format", EXPORT_FORMATS)
def test_a_comma_in_a_tag_is_a_space_in_html_and_csv(user_group, file_format):
    tags = ["a,b", "A b", ",", "c|d"]
    BookmarkFactory(user_group=user_group, tags=tags)
    text = exported(user_group, file_format)

    copy = import_into_new_group(file_format, text)

    assert exported(copy, file_format) == text
    [bookmark] = Bookmark.objects.filter(user_group=copy)
    assert bookmark.tags == (tags if file_format == "jsonl" else ["a b", "c|d"])
