"""POST {base_url}/v1/bookmarks."""

from datetime import datetime
from uuid import RFC_4122, UUID, uuid4

import pytest
from django.db import IntegrityError, transaction
from django.utils import timezone
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bookmarks import web_url
from bookmarks.models import Bookmark, Collection
from tests.answers import detail, errors, time_json, user_group_json
from tests.bookmarks.factories import BookmarkFactory, CollectionFactory
from tests.queries import concurrently, deadlock

URL = "https://example.com/"


def test_a_bookmark_is_created_and_returned_with_its_group(create_bookmark, user_group):
    before = timezone.now()

    response = create_bookmark({"url": URL, "updated_at": "2020-01-01T00:00:00Z"})

    assert response.status_code == 201
    bookmark = Bookmark.objects.get()
    assert bookmark.user_group == user_group
    assert response.json() == {
        "success": 1,
        "user_group": user_group_json(user_group),
        "bookmark": {
            "id": str(bookmark.pk),
            "url": URL,
            "title": "",
            "tags": [],
            "note": "",
            "collection": None,
            "created_at": time_json(bookmark.created_at),
            "updated_at": time_json(bookmark.updated_at),
        },
    }
    # The server sets the times.
    for time in (bookmark.created_at, bookmark.updated_at):
        assert before <= time <= timezone.now()


def test_ids_are_uuids_of_version_7_in_the_order_of_creation(create_bookmark):
    ids = [
        create_bookmark({"url": f"{URL}{n}"}).json()["bookmark"]["id"]
        for n in range(20)
    ]

    for text in ids:
        key = UUID(text)
        assert (key.version, key.variant, str(key)) == (7, RFC_4122, text)
    assert ids == sorted(ids)


@pytest.mark.parametrize(
    ("sent", "stored"),
    [
        ("2020-01-01T00:00:00Z", "2020-01-01T00:00:00.000000Z"),
        ("2020-01-01T01:02:03.456789+05:30", "2019-12-31T19:32:03.456789Z"),
        ("2020-01-01t00:00:00.5-01:00", "2020-01-01T01:00:00.500000Z"),
        ("2020-01-01T00:00:00z", "2020-01-01T00:00:00.000000Z"),
        ("1000-01-01T00:00:00Z", "1000-01-01T00:00:00.000000Z"),
    ],
)
def test_a_time_of_creation_is_kept(create_bookmark, sent, stored):
    before = timezone.now()

    bookmark = create_bookmark({"url": URL, "created_at": sent}).json()["bookmark"]

    assert bookmark["created_at"] == stored
    assert datetime.fromisoformat(bookmark["updated_at"]) >= before


@pytest.mark.parametrize(
    ("name", "values", "code"),
    [
        ("created_at", ["2999-01-01T00:00:00Z"], "in_future"),
        ("created_at", ["2020-01-01T00:00:00"], "no_offset"),
        ("created_at", ["0001-01-01T00:00:00+14:00"], "overflow"),
        (
            "created_at",
            [
                "2020-01-01",
                "2020-01-01T00:00:00+01",
                "2020-01-01T00:00:00Z\n",
                "2020-02-30T00:00:00Z",
                "\N{FULLWIDTH DIGIT TWO}020-01-01T00:00:00Z",
                "yesterday",
                "",
                1577836800,
                [],
            ],
            "invalid",
        ),
        ("title", [1, []], "invalid"),
        ("title", ["a" * 1001], "max_length"),
        ("note", [1, []], "invalid"),
        ("note", ["a" * 10_001], "max_length"),
        ("tags", ["a", 1, {}], "not_a_list"),
        ("tags", [[str(number) for number in range(51)]], "max_length"),
        ("url", [1, True, [URL], {"href": URL}], "invalid"),
        ("url", [""], "blank"),
        ("url", [URL.ljust(8001, "a")], "max_length"),
        *(
            (name, [None], "null")
            for name in ("created_at", "title", "url", "tags", "note")
        ),
    ],
)
def test_an_invalid_value_is_refused(create_bookmark, name, values, code):
    for value in values:
        assert errors(create_bookmark({"url": URL, name: value})) == [(name, code)]
    assert errors(create_bookmark({})) == [("url", "required")]
    assert not Bookmark.objects.exists()


# Collections


def test_invalid_and_foreign_collections_are_answered_alike(
    create_bookmark, user_group
):
    own = CollectionFactory(user_group=user_group)
    of_another_group = CollectionFactory(user_group__team=user_group.team)
    wrong = [
        str(uuid4()),
        str(CollectionFactory().pk),  # of another team
        str(of_another_group.pk),
        str(own.pk).upper(),
        own.pk.hex,
        f"{{{own.pk}}}",
        f"urn:uuid:{own.pk}",
        f"{own.pk} ",
        own.name,
        "",
        "x" * 100_000,
        "²" * 32,  # digits that are not decimal
        1,
        own.pk.int,
        True,
        [str(own.pk)],
        {"id": str(own.pk)},
    ]

    answers = [create_bookmark({"url": URL, "collection": value}) for value in wrong]

    assert errors(answers[0]) == [("collection", "does_not_exist")]
    assert {answer.content for answer in answers} == {answers[0].content}
    assert not Bookmark.objects.exists()


# URLs


@pytest.mark.parametrize(
    "url",
    [
        "http://example.com",
        "HTTPS://EXAMPLE.COM/%7Efoo/../bar?b=2&a=1#fragment",
        "http://intranet/",
        "http://host_name.example/",
        "http://localhost:8000/",
        "http://127.0.0.1/",
        "http://[::1]:8000/",
        "http://user:password@example.com/",
        "http://例え.テスト/パス?検索=値#断片",
        "http://xn--bcher-kva.example/",
        "https://example.com/a b",
        "https://example.com/%",
        "https://example.com/\U0001f468\u200d\U0001f469",
        "https://example.com./",
        "http:example.com",
        "http:\\\\example.com\\path",
        "http://example.com:65535/",
        "http://0x7f.1/",
        URL.ljust(8000, "a"),
    ],
)
def test_valid_urls_are_stored_unchanged(create_bookmark, url):
    response = create_bookmark({"url": url})

    assert response.status_code == 201
    assert response.json()["bookmark"]["url"] == url == Bookmark.objects.get().url


NO_SCHEME = "The URL has no scheme such as https://."
NOT_HTTP = "The URL is neither http nor https."
WHITE_SPACE = "The URL has surrounding white space."
CONTROL = "The URL has control characters."
NOT_VALID = "The URL is not valid by the WHATWG URL Standard."
LONG_HOST = "The host is longer than a domain name can be."
# Encoding it as a host would take 0.2 s.
CHINESE = "".join(map(chr, range(0x4E00, 0x4E00 + 7900)))


@pytest.mark.parametrize(
    ("reason", "urls"),
    [
        (NO_SCHEME, ["example.com", "//example.com/", "/path"]),
        (
            NOT_HTTP,
            [
                "ftp://example.com/",
                "javascript:alert(1)",
                "data:text/html,x",
                "file:///etc/passwd",
                "ws://example.com/",
                "mailto:a@example.com",
                "blob:https://example.com/x",
                f"ftp:{CHINESE}",
            ],
        ),
        (
            NOT_VALID,
            [
                "http://",
                "https:///",
                "http://?",
                "http://exa mple.com/",
                "http://example.com:65536/",
                "http://example.com:x/",
                "http://[::1/",
                "http://[::g]/",
                "http://1.2.3.256/",
                "http://exa<mple.com/",
                "http://%00/",
            ],
        ),
        (
            WHITE_SPACE,
            [
                " https://example.com/",
                "https://example.com/ ",
                "\u00a0https://example.com/",
                "https://example.com/\u3000",
            ],
        ),
        (
            CONTROL,
            [
                "https://exam\tple.com/",
                "https://example.com/\n",
                "https://example.com/a\rb",
                "https://example.com/\x1f",
                "https://example.com/\x7f",
                "https://example.com/\x85x",
            ],
        ),
        # at most 255 characters
        (LONG_HOST, [f"https://{CHINESE}", "https://user@" + "\u4e00" * 256]),
    ],
)
def test_an_invalid_url_is_answered_with_the_reason(create_bookmark, reason, urls):
    responses = [create_bookmark({"url": url}) for url in urls]

    for response in responses:
        assert errors(response) == [("url", "invalid")]
        assert detail(response) == reason
    assert not Bookmark.objects.exists()


def test_all_errors_are_reported_at_once(create_bookmark):
    response = create_bookmark({"url": "x", "collection": 1, "title": 1})

    assert set(errors(response)) == {
        ("url", "invalid"),
        ("collection", "does_not_exist"),
        ("title", "invalid"),
    }


def test_a_collection_is_looked_up_after_all_fields_are_valid(create_bookmark):
    response = create_bookmark({"url": "x", "collection": "x"})

    assert errors(response) == [("url", "invalid")]


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    rest=st.text(st.characters(codec="utf-8", exclude_categories=["Cc"]), max_size=50)
)
def test_urls_come_back_as_they_were_sent(create_bookmark, rest):
    Bookmark.objects.all().delete()  # that of the previous example
    # ends in x, because white space at the end is refused
    url = f"https://example.com/?{rest}#x"

    response = create_bookmark({"url": url})

    assert (response.status_code, response.json()["bookmark"]["url"]) == (201, url)


# Duplicates


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("http://example.com/", "http://example.com/"),
        ("http://example.com/", "http://example.com"),
        ("http://example.com/", "HTTP://Example.com:80"),
        ("https://example.com/", "https://example.com:443/"),
        ("http://example.com/a", "http://example.com/b/../a"),
        ("http://example.com/a b", "http://example.com/a%20b"),
        ("http://example.com/ü", "http://example.com/%C3%BC"),
        ("http://bücher.example/", "http://xn--bcher-kva.example/"),
        ("http://127.0.0.1/", "http://0x7f.1/"),
        ("http://[::1]/", "http://[0:0:0:0:0:0:0:1]/"),
        ("http://example.com/a", "http:\\\\example.com\\a"),
    ],
)
def test_the_same_url_is_stored_once(create_bookmark, first, second):
    created = create_bookmark({"url": first})

    again = create_bookmark({"url": second})

    assert (created.status_code, again.status_code) == (201, 200)
    assert again.content == created.content
    assert Bookmark.objects.count() == 1


@pytest.mark.parametrize(
    "other",
    [
        "https://example.com/a?x=1&y=2",
        "http://www.example.com/a?x=1&y=2",
        "http://example.com/a/?x=1&y=2",
        "http://example.com/a?y=2&x=1",
        "http://example.com/a?x=1&y=2#",
        "http://example.com/a?x=1&y=2#b",
        "http://example.com/A?x=1&y=2",
        "http://example.com:8080/a?x=1&y=2",
        "http://user@example.com/a?x=1&y=2",
        "http://example.com./a?x=1&y=2",
        "http://example.com/%61?x=1&y=2",
    ],
)
def test_different_urls_are_different_bookmarks(create_bookmark, other):
    create_bookmark({"url": "http://example.com/a?x=1&y=2"})

    assert create_bookmark({"url": other}).status_code == 201


def test_the_same_url_may_be_in_each_collection_and_each_group(
    create_bookmark, user_group
):
    one, two = CollectionFactory.create_batch(2, user_group=user_group)
    BookmarkFactory(url=URL)  # of another group

    for status in (201, 200):
        for place in (None, str(one.pk), str(two.pk)):
            answer = create_bookmark({"url": URL, "collection": place})
            assert answer.status_code == status


@pytest.mark.parametrize("is_inside", [False, True])
def test_the_database_refuses_duplicates(user_group, collection, is_inside):
    place = {"user_group": user_group, "collection": collection if is_inside else None}
    BookmarkFactory(**place, url="http://example.com/")
    same = Bookmark(**place, url="HTTP://EXAMPLE.com:80")

    with pytest.raises(IntegrityError), transaction.atomic():
        Bookmark.objects.bulk_create([same])


@pytest.mark.django_db(transaction=True)
def test_a_concurrently_deleted_collection_is_answered_like_an_unknown_one(
    create_bookmark, collection
):
    # right before the INSERT
    with concurrently("INSERT", collection.delete):
        response = create_bookmark({"url": URL, "collection": str(collection.pk)})

    assert errors(response) == [("collection", "does_not_exist")]
    assert not Bookmark.objects.exists()


@pytest.mark.django_db(transaction=True)
def test_a_concurrent_deletion_of_the_user_group_is_answered_with_401(
    create_bookmark, user_group
):
    # with the token, right before the INSERT
    with concurrently("INSERT", user_group.delete):
        response = create_bookmark({"url": URL})

    assert response.status_code == 401
    assert not Bookmark.objects.exists()


@pytest.mark.django_db(transaction=True)
def test_a_bookmark_is_created_after_a_deadlock(create_bookmark, user_group):
    """Another transaction locks the collection and then inserts the same
    bookmark, so that each waits for the other.
    """
    collection = CollectionFactory(user_group=user_group)
    same = Bookmark(user_group=user_group, collection=collection, url=URL)

    with deadlock(
        "INSERT",
        locked=Collection.objects.select_for_update().filter(pk=collection.pk),
        wait=lambda alias: same.save(using=alias, force_insert=True),
    ) as attempts:
        response = create_bookmark({"url": URL, "collection": str(collection.pk)})

    assert response.status_code == 201
    assert len(attempts) == 2


# Names of collections


def test_the_database_refuses_two_names_in_a_group(user_group):
    CollectionFactory(user_group=user_group, name="Same")
    CollectionFactory(name="Same")

    with pytest.raises(IntegrityError), transaction.atomic():
        Collection.objects.create(user_group=user_group, name="Same")


# The Python API


def test_add_many_changes_no_existing_bookmark_by_default(user_group):
    existing = BookmarkFactory(user_group=user_group, title="Old")
    item = {"url": existing.url, "title": "New"}

    [stored] = Bookmark.objects.add_many(user_group, [item])

    assert stored.bookmark == existing
    assert Bookmark.objects.get().title == "Old"


@pytest.mark.parametrize("url_name", ["bookmarks", "bookmarks-batch"])
def test_a_url_is_parsed_once(call_bookmarks, url_name, monkeypatch):
    parsed = []
    parse = web_url.can_ada.parse

    def count(url):
        parsed.append(url)
        return parse(url)

    monkeypatch.setattr(web_url.can_ada, "parse", count)
    item = {"url": URL}
    body = item if url_name == "bookmarks" else {"bookmarks": [item]}

    assert call_bookmarks("POST", url_name, body=body).status_code in (200, 201)

    assert parsed == [URL]
