"""An export of a group, imported into an empty group and exported again, has the same bytes."""

import io
from datetime import UTC, datetime
from uuid import uuid4

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bookmarks.files import EXPORT_FORMATS, exporting, importing
from bookmarks.files.importing import read
from bookmarks.files.records import Record, joined
from bookmarks.models import MAX_COLLECTION_NAME_LENGTH, Bookmark, Collection
from tests.bookmarks.factories import BookmarkFactory, CollectionFactory
from tests.bookmarks.imports import imported as store
from tests.usergroups.factories import UserGroupFactory

URL = "https://example.com/"
TIME = datetime(2020, 2, 29, 12, tzinfo=UTC)


def exported(user_group, name):
    return "".join(EXPORT_FORMATS[name].write(exporting.load(user_group)))


def imported(name, text):
    """Return a new user group into which the file was imported."""
    user_group = UserGroupFactory()
    report = store(user_group, read(io.BytesIO(text.encode()), name))
    assert (report.refusals, report.left_out) == ([], {})
    return user_group


def names(user_group):
    collections = Collection.objects.filter(user_group=user_group).order_by("created_at", "pk")
    return list(collections.values_list("name", flat=True))


def stored(user_group):
    rows = Bookmark.objects.filter(user_group=user_group).order_by("pk")
    return list(rows.values_list("url", "title", "collection__name", "created_at"))


def fill(user_group, places):
    """Create, in this order, the collections and their numbers of bookmarks. The name None stands for none."""
    for name, size in places:
        collection = name and CollectionFactory(user_group=user_group, name=name)
        for number in range(size):
            BookmarkFactory(
                user_group=user_group, collection=collection, url=f"{URL}{number}", title=str(number), created_at=TIME
            )


folder_names = st.text("A/ \r\n<&é\t\"'~", min_size=1, max_size=12)
paths = st.lists(folder_names, min_size=1, max_size=4).map(joined)
long_names = st.just("a / b" * (MAX_COLLECTION_NAME_LENGTH // 5))
place = st.tuples(st.none() | folder_names | paths | long_names, st.integers(0, 2))


@pytest.mark.parametrize("name", EXPORT_FORMATS)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(
    places=st.lists(place, max_size=6, unique_by=lambda each: each[0]),
    page_size=st.integers(1, 4),
    chunk_size=st.integers(1, 4),
)
def test_any_order_survives(db, name, places, page_size, chunk_size):
    user_group = UserGroupFactory()
    fill(user_group, places)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(exporting, "PAGE_SIZE", page_size)
        patch.setattr(importing, "ROWS_PER_TRANSACTION", chunk_size)
        text = exported(user_group, name)

        copy = imported(name, text)

        assert names(copy) == [each for each, _ in places if each]
        assert exported(copy, name) == text


special = st.sampled_from("a\"',;=+-@\t\r\n \u2028\u0085\x0b\x1c{}[]\\\ufeff")
text = st.text(special | st.characters(codec="utf-8", exclude_characters="\0"), max_size=20)
moments = st.datetimes(timezones=st.just(UTC)).filter(lambda moment: moment < datetime(2026, 1, 1, tzinfo=UTC))


@pytest.mark.parametrize("name", EXPORT_FORMATS)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(
    title=text,
    collection=st.none() | text.filter(len),
    moment=moments,
)
def test_exports_preserve_any_text_and_time(db, name, title, collection, moment):
    user_group = UserGroupFactory()
    store(user_group, [Record(1, f"{URL}{uuid4()}", title, collection, moment)])

    copy = imported(name, exported(user_group, name))

    assert stored(copy) == stored(user_group)
