"""Bookmarks and collections in the admin."""

import re
from datetime import timedelta

import pytest
from django.utils import timezone

from bookmarks.models import Bookmark, Collection
from tests.admin.actions import confirm, form_at, listed, open_confirmation, url
from tests.bookmarks.factories import BookmarkFactory, CollectionFactory
from tests.queries import concurrently
from tests.signals import recorded
from tests.usergroups.factories import UserGroupFactory
from usergroups.db import cascades
from usergroups.events import Event

pytestmark = pytest.mark.django_db


def bookmark_form(user_group, **fields):
    return {"user_group": user_group.pk, "url": "https://example.com/", **fields}


def test_a_bookmark_is_added_without_a_collection_and_a_duplicate_is_refused(
    admin_client, collection
):
    owner = collection.user_group
    BookmarkFactory(user_group=owner, collection=collection, url="https://example.com/")
    form = bookmark_form(owner, url="HTTPS://EXAMPLE.COM:443")

    admin_client.post(url("bookmarks_bookmark_add"), form)
    page = admin_client.post(url("bookmarks_bookmark_add"), form)

    assert page.context["adminform"].errors == {
        "url": ["A bookmark with this URL already exists in the same collection."]
    }
    stored = Bookmark.objects.values_list("collection", flat=True)
    assert set(stored) == {collection.pk, None}


@pytest.mark.parametrize(
    ("field", "value", "message"),
    [
        ("url", "example.com", "The URL has no scheme such as https://."),
        ("tags", "a\n" + "x" * 101, "A tag has at most 100 characters."),
        ("tags", "a\tb", "The tag has control characters."),
        ("tags", "\n".join(map(str, range(51))), "A bookmark has at most 50 tags."),
    ],
    ids=["URL", "long tag", "control character", "many tags"],
)
def test_an_invalid_value_is_refused_with_a_message(
    admin_client, user_group, field, value, message
):
    form = bookmark_form(user_group, **{field: value})

    page = admin_client.post(url("bookmarks_bookmark_add"), form)

    assert page.context["adminform"].errors == {field: [message]}


def test_a_bookmark_is_moved_only_within_its_group(admin_client):
    bookmark = BookmarkFactory()
    own = CollectionFactory(user_group=bookmark.user_group)
    foreign = CollectionFactory()

    address = url("bookmarks_bookmark_change", bookmark.pk)

    page = admin_client.post(address, {"collection": foreign.pk})
    refusal = ["The user group has no such collection."]
    assert page.context["adminform"].errors == {"collection": refusal}

    admin_client.post(address, {"collection": own.pk})
    assert Bookmark.objects.get().collection == own
    assert Event.objects.get().changes == {"collection": [None, str(own)]}


def test_a_collection_that_a_caller_changed_after_the_form_was_opened_is_kept_and_validated(
    admin_client,
):
    bookmark = BookmarkFactory(title="Old")
    collection = CollectionFactory(user_group=bookmark.user_group)
    Bookmark.objects.update_by_id(
        bookmark.user_group, str(bookmark.pk), collection=collection
    )
    # The same URL without a collection: moving the bookmark back would fail.
    BookmarkFactory(user_group=bookmark.user_group, url=bookmark.url)

    # The operator opened the form before the change, and edits only the title.
    form = {
        "collection": "",
        "initial-collection": "",
        "title": "New",
        "initial-title": "Old",
    }
    admin_client.post(url("bookmarks_bookmark_change", bookmark.pk), form)

    bookmark.refresh_from_db()
    assert (bookmark.title, bookmark.collection) == ("New", collection)


def test_deleting_a_collection_keeps_its_bookmarks(admin_client, collection):
    bookmark = BookmarkFactory(user_group=collection.user_group, collection=collection)

    page = admin_client.get(url("bookmarks_collection_delete", collection.pk))
    assert "The bookmarks are kept, without a collection." in page.content.decode()
    confirm(admin_client, page)

    assert not Collection.objects.exists()
    bookmark.refresh_from_db()
    assert bookmark.collection is None


def test_links_to_bookmarks_are_escaped_and_send_no_referrer(admin_client):
    bookmark = BookmarkFactory(url='https://example.com/?a="b"&c=<d>')

    address = url("bookmarks_bookmark_change", bookmark.pk)
    page = admin_client.get(address).content.decode()
    [link] = re.findall(r'<a href="https://[^>]*target="_blank"[^>]*>', page)
    assert 'href="https://example.com/?a=&quot;b&quot;&amp;c=&lt;d&gt;"' in link
    assert 'rel="noopener noreferrer"' in link


def test_a_javascript_url_is_not_a_link(admin_client):
    bookmark = BookmarkFactory()
    Bookmark.objects.update(url="javascript:alert(1)")

    for page in (
        url("bookmarks_bookmark_changelist"),
        url("bookmarks_bookmark_change", bookmark.pk),
    ):
        assert 'href="javascript' not in admin_client.get(page).content.decode()


@pytest.fixture
def inside(collection):
    """Return a bookmark in the collection. Another is of another user group."""
    BookmarkFactory()
    return BookmarkFactory(user_group=collection.user_group, collection=collection)


def test_bookmarks_are_filtered_by_team_group_and_collection(admin_client, inside):
    for name, value in (
        ("user_group__id__exact", inside.user_group_id),
        ("user_group__team__id__exact", inside.user_group.team_id),
        ("collection__id__exact", inside.collection_id),
    ):
        query = {name: value, "q": "example"}
        page = admin_client.get(url("bookmarks_bookmark_changelist"), query)
        assert list(page.context["cl"].queryset) == [inside]
        assert f'value="{value}" selected' in page.content.decode()
        kept = '<input type="hidden" name="q" value="example">'
        # once for each filter with a field
        assert page.content.decode().count(kept) == 3


def test_bookmarks_without_a_collection_are_listed(admin_client, inside):
    bookmark = BookmarkFactory(user_group=inside.user_group)
    query = f"?user_group__id__exact={inside.user_group_id}&collection__isempty=1"

    page = admin_client.get(url("bookmarks_bookmark_changelist") + query)

    assert list(page.context["cl"].queryset) == [bookmark]
    text = page.content.decode()
    assert 'aria-current="true">Empty</a>' in text
    # The search and the three fields of filters keep it.
    assert text.count('name="collection__isempty"') == 4


def test_only_the_groups_own_collections_are_offered(admin_client, inside):
    CollectionFactory()  # of another group

    page = admin_client.get(url("bookmarks_bookmark_change", inside.pk))
    address = re.search(r'data-ajax--url="([^"]+)"', page.content.decode())[1]
    # the parameters that the script of the field adds
    field = "app_label=bookmarks&model_name=bookmark&field_name=collection"
    offered = admin_client.get(f"{address}&{field}&term=")

    offered_ids = [row["id"] for row in offered.json()["results"]]
    assert offered_ids == [str(inside.collection_id)]


def test_all_bookmarks_of_a_filtered_list_are_deleted_at_once(admin_client):
    user_group = UserGroupFactory()
    Bookmark.objects.bulk_create(
        Bookmark(user_group=user_group, url=f"https://example.com/{n}")
        for n in range(101)  # more than a page of the list
    )
    other = BookmarkFactory()
    query = f"?user_group__id__exact={user_group.pk}"
    [first] = Bookmark.objects.filter(user_group=user_group)[:1]

    page = open_confirmation(
        admin_client,
        "bookmarks_bookmark",
        "delete_selected",
        first,
        query=query,
        select_across="1",
        index="0",
    )
    assert "Listed</span>: <span>101</span>" in page.content.decode()
    assert len(page.context["address"]) < 200
    done = confirm(admin_client, page)

    assert done.redirect_chain == [(url("bookmarks_bookmark_changelist") + query, 302)]
    assert "Deleted 101 bookmarks." in done.content.decode()
    assert list(Bookmark.objects.all()) == [other]
    event = Event.objects.get()
    assert event.counts == {"bookmarks.bookmark": 101}
    assert len(event.keys.split()) == 101


def test_a_truncated_list_says_so(admin_client, user_group, ten_rows_listed):
    BookmarkFactory.create_batch(10, user_group=user_group)

    page = admin_client.get(url("bookmarks_bookmark_changelist"))

    assert "10+ results" in page.content.decode()


@pytest.mark.parametrize(
    ("factory", "model", "field"),
    [
        (BookmarkFactory, "bookmarks_bookmark", "title"),
        (CollectionFactory, "bookmarks_collection", "name"),
    ],
)
def test_a_change_leaves_the_user_group_and_its_other_rows(
    admin_client, user_group, factory, model, field
):
    row, other = factory.create_batch(2, user_group=user_group)
    before = getattr(other, field)
    sent = {"user_group": UserGroupFactory().pk, field: "New"}

    admin_client.post(url(f"{model}_change", row.pk), sent)

    row.refresh_from_db()
    other.refresh_from_db()
    assert (row.user_group, getattr(row, field)) == (user_group, "New")
    assert getattr(other, field) == before


def test_a_failed_addition_is_not_reported_as_added(
    admin_client, transactional_db, user_group
):
    # Another connection deletes the user group just before the bookmark is
    # inserted.
    with concurrently('INSERT INTO "bookmarks_bookmark"', user_group.delete):
        form = bookmark_form(user_group)
        page = admin_client.post(url("bookmarks_bookmark_add"), form)

    assert page.context["adminform"].errors.keys() == {"user_group"}
    assert "was added" not in page.content.decode()
    assert "was added" not in admin_client.get(url("index")).content.decode()


def two_bookmarks(**fields):
    """Return the bookmark that was added last, and the one that was added
    before it with a later ``created_at``.
    """
    now = timezone.now()
    created_last = BookmarkFactory(title="A Title", created_at=now, **fields)
    return (
        BookmarkFactory(title="A Title", created_at=now - timedelta(hours=1), **fields),
        created_last,
    )


def test_bookmarks_are_found_by_title_and_the_last_one_added_is_listed_first(
    admin_client,
):
    added_last, created_last = two_bookmarks()
    BookmarkFactory(title="Other")

    page = admin_client.get(url("bookmarks_bookmark_changelist"), {"q": "a title"})

    assert list(page.context["cl"].result_list) == [added_last, created_last]
    assert "A Title" in page.content.decode()


@pytest.mark.parametrize("filtered_by", ["user_group", "collection"])
def test_bookmarks_of_a_group_or_a_collection_are_listed_by_time_of_creation(
    admin_client, filtered_by
):
    collection = CollectionFactory()
    owners = {"user_group": collection.user_group, "collection": collection}
    added_last, created_last = two_bookmarks(**owners)
    query = {f"{filtered_by}__id__exact": owners[filtered_by].pk}

    page = admin_client.get(url("bookmarks_bookmark_changelist"), query)

    assert list(page.context["cl"].result_list) == [created_last, added_last]


@pytest.mark.parametrize(
    "model", ["usergroups_team", "usergroups_usergroup", "bookmarks_collection"]
)
def test_a_deletion_that_takes_too_long_for_a_page_is_refused(
    admin_client, monkeypatch, inside, model
):
    monkeypatch.setattr(cascades, "MAX_DEPENDANTS", 0)
    row = {
        "usergroups_team": inside.user_group.team,
        "usergroups_usergroup": inside.user_group,
        "bookmarks_collection": inside.collection,
    }[model]

    page = admin_client.post(url(f"{model}_delete", row.pk), {"post": "yes"})

    assert f"manage.py delete_object {row._meta.label} ID" in page.content.decode()
    inside.refresh_from_db()
    assert inside.collection is not None


# Tags and notes

TAGGED = {"tags": ["Read later", "ü"], "note": " One.\n\nTwo."}


def as_browser(form):
    """Return the data of a form as a browser sends it."""
    return {name: value.replace("\n", "\r\n") for name, value in form.items()}


def shown_bookmark(client, bookmark, query=""):
    address = url("bookmarks_bookmark_change", bookmark.pk) + query
    form = form_at(client, address)
    return as_browser({**form, "collection": form["collection"] or ""})


def test_a_bookmark_is_added_with_tags_and_a_note(admin_client, user_group):
    form = {"tags": " Read later \n\nü\nREAD LATER\n", "note": TAGGED["note"]}

    admin_client.post(
        url("bookmarks_bookmark_add"), bookmark_form(user_group, **as_browser(form))
    )

    assert Bookmark.objects.values("tags", "note").get() == TAGGED


@pytest.mark.parametrize("note", [TAGGED["note"], "One.\r\nTwo.\rThree.\n"])
def test_saving_what_the_form_shows_changes_nothing(admin_client, note):
    bookmark = BookmarkFactory(**{**TAGGED, "note": note})

    with recorded() as signals:
        admin_client.post(
            url("bookmarks_bookmark_change", bookmark.pk),
            shown_bookmark(admin_client, bookmark),
        )

    assert signals == []
    assert Bookmark.objects.values("tags", "note", "updated_at").get() == {
        **TAGGED,
        "note": note,
        "updated_at": bookmark.updated_at,
    }


@pytest.mark.parametrize(
    ("entered", "stored"),
    [
        ({"tags": "b\r\nc"}, {"tags": ["b", "c"]}),
        ({"tags": ""}, {"tags": []}),
        ({"note": "New.\r\nText."}, {"note": "New.\nText."}),
        ({"tags": "b", "note": ""}, {"tags": ["b"], "note": ""}),
    ],
)
def test_tags_and_a_note_are_changed_and_announced(admin_client, entered, stored):
    bookmark = BookmarkFactory(**TAGGED)
    form = {**shown_bookmark(admin_client, bookmark), **entered}

    with recorded() as signals:
        admin_client.post(url("bookmarks_bookmark_change", bookmark.pk), form)

    [(name, _, arguments)] = signals
    assert (name, arguments["fields"]) == ("updated", set(entered))
    [instance] = arguments["instances"]
    expected = {**TAGGED, **stored}
    assert {"tags": instance.tags, "note": instance.note} == expected
    assert Bookmark.objects.values("tags", "note").get() == expected


@pytest.mark.parametrize("text", ["LATER", "two.", "ü"])
def test_a_list_is_searched_for_tags_and_notes(admin_client, text):
    bookmark = BookmarkFactory(**TAGGED)
    BookmarkFactory()

    assert listed(admin_client, "bookmarks_bookmark", q=text) == {bookmark}
