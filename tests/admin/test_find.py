"""Find, the search field in the header.

The fixture ``everything`` is a dict with a "Findable" object of each model.
"""

import logging
import re
from urllib.parse import quote

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.db.models import BooleanField, Func, Q
from django.test.utils import CaptureQueriesContext

from tests.admin.actions import allow_only, url
from tests.admin.test_lists import MODELS, fill
from tests.bookmarks.factories import (
    AccessTokenFactory,
    BookmarkFactory,
    CollectionFactory,
)
from tests.queries import queries_of
from tests.usergroups.factories import ApiTokenFactory, TeamFactory, UserGroupFactory
from usergroups.admin import TeamAdmin

pytestmark = pytest.mark.django_db

FIND = url("find")


def find(client, text):
    return client.post(FIND, {"text": text})


def page_of(row):
    return url(f"{row._meta.app_label}_{row._meta.model_name}_change", row.pk)


def found(response):
    """Return the addresses of the rows that a page of results lists."""
    assert response.status_code == 200
    return re.findall(r'<li class="wrap"><a href="([^"]+)"', response.content.decode())


@pytest.mark.parametrize("factory", [ApiTokenFactory, AccessTokenFactory])
@pytest.mark.parametrize("state", ["recently_used", "revoked", "expired", "rotated"])
def test_a_secret_leads_to_its_token_in_any_state(admin_client, factory, state):
    # which must not be found
    factory()
    UserGroupFactory()
    token = factory(**{state: True})

    for text in (
        token.secret,
        f"\n {token.secret}\t",
        f"Authorization: Bearer {token.secret}",
        token.public_id,
    ):
        assert find(admin_client, text).url == page_of(token)


@pytest.mark.parametrize("factory", [ApiTokenFactory, AccessTokenFactory])
def test_the_beginning_of_a_secret_is_found_in_every_form_in_which_it_is_shown(
    admin_client, factory
):
    factory(name="Other")
    token = factory(name="Nightly sync")
    hint = token.hint

    for text in (
        hint,
        f"{hint}…",
        f"{hint}...",
        str(token),
        f"API token: {token}",
        # Find takes 30 characters and more for a secret.
        *(token.secret[: len("uga_") + length] for length in (4, 16, 29, 30, 37)),
        f"Issued as the successor of {hint}…",
        "Nightly sync",
        "nightly",
        hint[:7],
    ):
        response = find(admin_client, text)
        assert response.status_code == 302, text
        assert response.url == page_of(token), text
    for part in (hint[4:], hint[3:], hint[:3], hint[:4]):
        assert find(admin_client, part).context["found"] == [], part


ROWS = {
    "user group": (
        lambda: UserGroupFactory(provided_id="customer-1", name="First, and (only)"),
        ["customer-1", " customer-1\n", "First, and (only)", "first"],
    ),
    "team": (
        lambda: TeamFactory(name="Demo", pk=4711),
        ["Demo", "DEMO", "team_id: 4711", '"team_id": 4711,'],
    ),
    "collection": (
        lambda: CollectionFactory(name="Reading list"),
        ["Reading list", "READING LIST"],
    ),
    "bookmark": (
        lambda: BookmarkFactory(url="http://example.com/"),
        ["http://example.com/", "http://example.com", "HTTP://Example.com:80"],
    ),
}
"""A function that creates a row, and texts that lead to its page, by model."""


@pytest.mark.parametrize(("create", "texts"), ROWS.values(), ids=ROWS)
def test_a_row_is_found_by_its_names(admin_client, create, texts):
    UserGroupFactory(provided_id="customer-10", name="Second")
    row = create()

    for text in texts:
        assert find(admin_client, text).url == page_of(row), text


@pytest.mark.parametrize(
    ("factory", "field"),
    [(UserGroupFactory, "token"), (CollectionFactory, "pk"), (BookmarkFactory, "pk")],
)
def test_a_row_is_found_by_its_key(admin_client, factory, field):
    row, _ = factory.create_batch(2)

    assert find(admin_client, str(getattr(row, field))).url == page_of(row)


def test_an_internal_id_finds_nothing(admin_client):
    TeamFactory(pk=4711)
    ApiTokenFactory(id=4712)
    UserGroupFactory(pk=4713)

    for text in ("4711", "4712", "4713"):
        assert find(admin_client, text).context["found"] == [], text


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("Müller und Söhne", "sohne muller"),
        ("Muller und Sohne", "SÖHNE Müller"),
        ("MU\u0308LLER", "müller"),
        ("İzmir", "İZMİR"),
        ("Łódź Ośrodek", "lodz osrodek"),
        ("Straße (Nord)", "nord) stra"),
        ("Ελλάδα", "ελλαδα"),
        ("МЁД", "мед"),
        ("한국어", "한국"),
        ("ガラス", "ガラス"),
        ("a.b*c[d]^e", "^e *c[d] .b"),
        ("Acme", "acm test-7"),
    ],
)
def test_words_are_found_in_any_order_and_without_accents(admin_client, name, text):
    user_group = UserGroupFactory(name=name, provided_id="test-7")
    UserGroupFactory(name="axb", provided_id="test-8")

    assert find(admin_client, text).url == page_of(user_group)
    # All words must be found.
    assert find(admin_client, f"{text} meier").context["found"] == []


def test_many_accents_take_little_time(admin_client):
    """A search for each accent would take years on SQLite."""
    UserGroupFactory(name="a" + "\u0301" * 60 + "b")

    assert find(admin_client, "a" + "\u0301" * 20 + "z").context["found"] == []


def test_accounts_are_found_by_username_name_and_address(admin_client):
    account = User.objects.create_user(
        "anna", "anna@example.com", first_name="Anna", last_name="Müller"
    )

    for text in ("anna@example.com", "anna", "muller anna", "ANNA@example"):
        assert find(admin_client, text).url == url("auth_user_change", account.pk)
    allow_only(admin_client, "usergroups_team", "view")
    assert find(admin_client, "anna").context["found"] == []


def test_deleted_objects_are_found_by_their_ids(admin_client):
    bookmark = BookmarkFactory()
    owner = bookmark.user_group
    collection = CollectionFactory(user_group=owner)
    group = UserGroupFactory(provided_id="gone", environment="Testing")
    for row in (bookmark, collection, group):
        row.delete()

    lines = {
        str(bookmark.pk): (f"Bookmark {bookmark.pk}", owner),
        str(collection.pk): (f"Collection {collection.pk}", owner),
        "gone": ("User group gone, Testing", group.team),
    }
    for text, (name, owner_of_row) in lines.items():
        [line] = find(admin_client, text).context["deleted"]
        assert line.startswith(f"{name} · <time "), text
        assert f'<a href="{page_of(owner_of_row)}">' in line
    allow_only(admin_client, "usergroups_team", "view")
    for text in lines:
        assert find(admin_client, text).context["deleted"] == []


def test_the_page_links_to_the_searches_of_bookmarks_and_of_the_history(
    admin_client, client
):
    text = "example.com/half?a=1&b"
    query = "?q=example.com%2Fhalf%3Fa%3D1%26b"

    links = find(admin_client, text).context["list_links"]

    assert links == [
        ("Bookmarks", url("bookmarks_bookmark_changelist") + query),
        ("History", url("usergroups_event_changelist") + query),
    ]
    assert find(admin_client, "x" * 101).context["list_links"] == []
    assert find(admin_client, "y" * 20).context["list_links"] == []
    allow_only(client, "usergroups_team", "view")
    assert [name for name, _ in find(client, text).context["list_links"]] == ["History"]


def test_several_rows_are_grouped_by_model_and_can_be_told_apart(admin_client):
    tokens = [
        ApiTokenFactory(name="Twin", team__name="Red"),
        ApiTokenFactory(name="Twin", revoked=True),
    ]
    access_token = AccessTokenFactory(name="Twin", user_group__name="Owner")

    response = find(admin_client, "Twin")

    page = response.content.decode()
    rows = [*reversed(tokens), access_token]
    assert found(response) == [page_of(row) for row in rows]
    names = [each["opts"].verbose_name_plural for each in response.context["found"]]
    assert list(map(str, names)) == ["API tokens", "access tokens"]
    for text in (*map(str, tokens), "Red", "Revoked", str(access_token.user_group)):
        assert text in page


def test_find_shows_ten_rows_of_a_model_and_links_to_the_list_that_has_all(
    admin_client,
):
    UserGroupFactory.create_batch(11, name="Same & more")

    page = find(admin_client, "Same & more").content.decode()

    assert page.count("Same &amp; more (") == 10
    address = f"{url('usergroups_usergroup_changelist')}?q=Same%20%26%20more"
    assert f'href="{address}"' in page


@pytest.mark.parametrize(
    "text",
    ["uga_" + "x" * 38, "ugt_" + "x" * 30, "ghp_" + "y" * 36, "0123456789abcdef" * 4],
    ids=["secret", "user group token", "of another service", "digest"],
)
def test_only_a_text_that_may_be_a_secret_is_not_shown_again(admin_client, text):
    content = find(admin_client, text).content.decode()
    other = find(admin_client, "<nowhere>").content.decode()

    assert "Nothing was found" in content or "No token has this secret." in content
    assert text not in content
    assert "?q=" not in content
    assert "Nothing was found for “&lt;nowhere&gt;”." in other


NOT_SEARCHED = [" \n", "no\0where", "x" * 1_000_000]
HOSTILE = [
    "%",
    "_",
    "\\",
    "'",
    '"',
    "ü",
    "\u202e",
    "9" * 4300,
    "uga_…",
    "(",
    "())",
    "http://[",
    "https://a" * 500,
    "http://" + "ü" * 300 + ".de",
    "00000000-0000-0000-0000-000000000000",
    "\ufffd",
    "x" * 10_000,
]


def test_any_text_has_a_page(admin_client, everything):
    for text in HOSTILE:
        assert find(admin_client, text).status_code in (200, 302), text
    for text in NOT_SEARCHED:
        response = find(admin_client, text)
        assert response.context["found"] == []
        assert len(response.content) < 50_000


@pytest.mark.parametrize("model", MODELS)
def test_only_models_that_the_operator_may_view_are_found(client, everything, model):
    bookmark = everything["bookmarks_bookmark"]
    secrets = [
        everything["usergroups_apitoken"].secret,
        everything["bookmarks_accesstoken"].secret,
        everything["usergroups_usergroup"].token,
    ]
    texts = [
        "Findable",
        *secrets,
        *(secret[:8] for secret in secrets),
        bookmark.url,
        str(bookmark.pk),
    ]
    allow_only(client, model, "view")

    pages = [find(client, text) for text in texts]

    # If only one row is found, its page is opened.
    opened = {page.url for page in pages if page.status_code == 302}
    listed = [found(page) for page in pages if page.status_code == 200]
    assert opened == {page_of(everything[model])}
    assert not any(listed)


def test_visitors_must_log_in_before_they_use_find(client):
    response = find(client, "uga_secret")

    assert response.url == f"{url('login')}?next={quote(FIND)}"
    assert 'id="find"' not in client.get(url("login")).content.decode()


@pytest.mark.parametrize("page", ["index", "usergroups_team_add", "find"])
def test_a_page_has_the_form_which_sends_the_text_by_post(admin_client, page):
    content = admin_client.get(url(page)).content.decode()

    pattern = r'<form method="post" action="/admin/find/"(.*?)</form>'
    [form] = re.findall(pattern, content, re.DOTALL)
    for part in ('type="search" name="text"', "csrfmiddlewaretoken", 'for="find-text"'):
        assert part in form


def test_neither_logs_nor_queries_contain_the_secret(admin_client, everything, caplog):
    secret = everything["usergroups_apitoken"].secret

    with caplog.at_level(logging.DEBUG), CaptureQueriesContext(connection) as queries:
        find(admin_client, secret)

    assert secret not in caplog.text
    assert secret not in str(queries.captured_queries)


def queried_tables(client, text):
    """Return the tables of the apps that are queried for a text, in order."""
    # without the last use of the tokens of an owner
    statements = [
        re.sub(r"\(SELECT MAX.*newest\)", "", sql)
        for sql in queries_of(find, client, text)
    ]
    return re.findall(r' FROM "((?:usergroups|bookmarks)_\w+)', "\n".join(statements))


EXACTLY = [
    "usergroups_team",
    "usergroups_apitoken",
    "usergroups_usergroup",
    "bookmarks_accesstoken",
    "bookmarks_collection",
]
BY_WORDS = [*EXACTLY]
# The deletions of user groups are searched after the user groups.
BY_WORDS.insert(3, "usergroups_usergroupdeletion")

EXPECTED = {
    # The digest is compared with those of the tokens with this prefix.
    "secret": ["usergroups_apitoken"],
    "unknown secret": ["bookmarks_accesstoken"],
    # Each table is searched for whole values. The bookmarks are searched only
    # for a URL or an id.
    "provided id": EXACTLY,
    "url": [*EXACTLY, "bookmarks_bookmark"],
    # If no value is equal to the text, the tables are searched again, for its
    # words, and the deletions for its id.
    "part": EXACTLY + BY_WORDS,
    "unknown url": [*EXACTLY, "bookmarks_bookmark", *BY_WORDS],
}
"""The tables that are searched, by the kind of the text."""


on_postgresql = pytest.mark.skipif(
    connection.vendor != "postgresql", reason="SQLite has no time limit for a statement"
)


class Sleep(Func):
    """A condition that takes a minute for each row, and is not met."""

    function = "pg_sleep"
    template = "%(function)s(60)::text IS NULL"
    output_field = BooleanField()
    conditional = True


@on_postgresql
def test_a_search_that_takes_too_long_is_ended_and_named(
    admin_client, everything, monkeypatch
):
    monkeypatch.setattr(TeamAdmin, "exact_condition", lambda self, text: Q(Sleep()))

    response = find(admin_client, str(everything["bookmarks_collection"].pk))

    content = response.content.decode()
    assert "The search took longer than a second and was ended for: teams." in content
    assert found(response) == [page_of(everything["bookmarks_collection"])]


@on_postgresql
@pytest.mark.django_db(transaction=True)
def test_the_time_limit_ends_with_the_search(admin_client, everything):
    find(admin_client, "findable")

    with connection.cursor() as cursor:
        cursor.execute("SHOW statement_timeout")
        assert cursor.fetchone() != ("1s",)


def test_each_kind_of_text_takes_the_same_queries_for_few_and_for_many_rows(
    admin_client,
):
    token = ApiTokenFactory()
    bookmark = BookmarkFactory(
        url="https://example.com/sought", user_group__provided_id="sought"
    )
    texts = {
        "secret": token.secret,
        "unknown secret": "bma_" + "x" * 38,
        "provided id": bookmark.user_group.provided_id,
        "url": bookmark.url,
        "part": "ough",
        "unknown url": "https://example.com/unknown",
    }
    find(admin_client, texts["unknown secret"])  # caches the content types
    for number in (10, 100):
        fill(number)
        for kind, text in texts.items():
            assert queried_tables(admin_client, text) == EXPECTED[kind], kind
