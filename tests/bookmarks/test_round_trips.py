"""An export of a group, imported into an empty group and exported again, has the same bytes."""

import io
from datetime import UTC, datetime

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bookmarks.files import EXPORT_FORMATS, exporting, importing
from bookmarks.files.importing import read
from bookmarks.files.records import CollectionRecord, Record
from bookmarks.models import Bookmark, Collection
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
    assert report.refusals == []
    return user_group


def names(user_group):
    return list(Collection.objects.filter(user_group=user_group).order_by("pk").values_list("name", flat=True))


def fill(user_group, places):
    """Create, in this order, the collections and their numbers of bookmarks. The name None stands for none."""
    for name, size in places:
        collection = name and CollectionFactory(user_group=user_group, name=name)
        for number in range(size):
            BookmarkFactory(
                user_group=user_group, collection=collection, url=f"{URL}{number}", title=str(number), created_at=TIME
            )


@pytest.mark.parametrize("name", EXPORT_FORMATS)
@pytest.mark.parametrize(
    "places",
    [
        [("first, empty", 0), ("B", 2), ("A", 1)],
        [(None, 2), ("B", 1), ("between", 0), ("empty too", 0), ("A", 3)],
        [(None, 1), ("B", 1), ("last", 0)],
        [("only", 0)],
        [],
    ],
)
def test_order_and_empty_collections_survive(user_group, name, places):
    fill(user_group, places)
    text = exported(user_group, name)

    copy = imported(name, text)

    assert names(copy) == [place for place, _ in places if place]
    assert exported(copy, name) == text


@pytest.mark.parametrize("name", EXPORT_FORMATS)
@pytest.mark.parametrize("chunk_size", [100, 700])
def test_3000_collections_survive(user_group, name, chunk_size, monkeypatch):
    """Half of the collections are empty. They take two pages, and several chunks."""
    monkeypatch.setattr(importing, "ROWS_PER_TRANSACTION", chunk_size)
    collections = [Collection(user_group=user_group, name=str(n * 7919 % 3000)) for n in range(3000)]
    Collection.objects.bulk_create(collections)
    Bookmark.objects.bulk_create(
        Bookmark(user_group=user_group, collection=each, url=URL, created_at=TIME) for each in collections[::2]
    )
    text = exported(user_group, name)

    copy = imported(name, text)

    assert names(copy) == [collection.name for collection in collections]
    assert exported(copy, name) == text


place = st.tuples(st.none() | st.text("AB /é", min_size=1, max_size=4), st.integers(0, 2))


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


def test_collections_are_created_in_the_order_of_the_file(user_group):
    records = [
        Record(1, URL, "", "C"),
        CollectionRecord(2, "B"),
        Record(3, URL, "", "A"),
        CollectionRecord(4, "C"),
        CollectionRecord(5, ""),
    ]

    report = store(user_group, records)

    assert (report.created, report.existing, report.refused) == (2, 0, 0)
    assert names(user_group) == ["C", "B", "A"]
    by_date = Collection.objects.order_by("created_at", "pk").values_list("name", flat=True)
    assert list(by_date) == ["C", "B", "A"]


def test_an_empty_collection_is_ignored_if_a_collection_is_given(user_group):
    collection = CollectionFactory(user_group=user_group)

    report = store(user_group, [CollectionRecord(1, "Other"), CollectionRecord(2, 1)], collection)

    assert (report.refused, names(user_group)) == (0, [collection.name])


def test_an_invalid_name_of_an_empty_collection_is_refused(user_group):
    report = store(user_group, [CollectionRecord(1, 5)])

    assert [refusal.reason for refusal in report.refusals] == ["collection is not text."]


def test_rows_with_equal_dates_keep_the_order_of_the_file(user_group):
    urls = [f"{URL}{n * 7 % 10}" for n in range(10)]
    store(user_group, [Record(9, f"{URL}5")])

    store(user_group, [Record(n, url, "", None, TIME) for n, url in enumerate(urls)])

    stored = Bookmark.objects.filter(created_at=TIME).order_by("created_at", "pk").values_list("url", flat=True)
    assert list(stored) == [url for url in urls if url != f"{URL}5"]
