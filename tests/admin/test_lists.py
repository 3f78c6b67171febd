"""The lists and pages of the admin.

The fixture ``everything`` is a dict with a "Findable" object of each model.
"""

import html
import re
from itertools import count
from urllib.parse import quote

import pytest
from django.contrib.admin import ModelAdmin
from django.db import connection
from django.test.utils import CaptureQueriesContext

from bookmarks.models import AccessToken, Bookmark, Collection
from tests.admin.actions import listed, log_in_with, url
from tests.bookmarks.factories import AccessTokenFactory, BookmarkFactory
from tests.queries import warm_up
from tests.usergroups.factories import ApiTokenFactory, UserGroupFactory
from usergroups.models import ApiToken, Team, UserGroup

pytestmark = pytest.mark.django_db

MODELS = [
    "usergroups_team",
    "usergroups_usergroup",
    "usergroups_apitoken",
    "bookmarks_collection",
    "bookmarks_accesstoken",
    "bookmarks_bookmark",
]


@pytest.mark.parametrize("model", MODELS)
def test_each_model_is_listed_searched_and_read(admin_client, everything, model):
    instance = everything[model]
    address = url(f"{model}_changelist")

    page_of_list = admin_client.get(address, {"q": "findable"})
    missed = admin_client.get(address, {"q": "nowhere to be found"})
    page = admin_client.get(url(f"{model}_change", instance.pk))
    form = admin_client.get(url(f"{model}_add"))

    assert list(page_of_list.context["cl"].queryset) == [instance]
    assert list(missed.context["cl"].queryset) == []
    assert '<p class="empty">Nothing matches.' in missed.content.decode()
    assert "Show all" in missed.content.decode()
    assert "Findable" in page.content.decode()
    assert form.status_code == 200


@pytest.mark.parametrize(
    ("text", "is_searched"),
    [
        ("a" * 100, True),
        ("a b c d e", True),
        ('"a b" c d e f', True),
        ("a" * 101, False),
        ("a b c d e f", False),
    ],
    ids=["characters", "words", "quoted", "more characters", "more words"],
)
def test_a_list_is_searched_for_texts_up_to_a_limit(
    admin_client, user_group, text, is_searched
):
    page = admin_client.get(url("usergroups_usergroup_changelist"), {"q": text})

    refusal = "Search for at most 100 characters and 5 words."
    assert (refusal in page.content.decode()) is not is_searched
    assert (list(page.context["cl"].queryset) == []) is is_searched


def test_a_longer_text_finds_nothing_in_an_autocomplete_field(admin_client, user_group):
    UserGroup.objects.filter(pk=user_group.pk).update(name="a" * 101)
    field = "app_label=bookmarks&model_name=bookmark&field_name=user_group"

    for length, number in ((100, 1), (101, 0)):
        address = f"{url('autocomplete')}?{field}&term={'a' * length}"
        assert len(admin_client.get(address).json()["results"]) == number


@pytest.mark.parametrize(
    ("number", "is_found"), [(10, True), (11, False)], ids=["as many", "more"]
)
def test_a_search_reads_only_the_newest_rows(
    admin_client, user_group, ten_rows_listed, number, is_found
):
    UserGroup.objects.filter(pk=user_group.pk).update(name="Needle")
    others = UserGroup.objects.bulk_create(
        UserGroup(team=user_group.team, provided_id=f"other_{n}", name="Other")
        for n in range(number - 1)
    )
    filters = {"team__id__exact": user_group.team_id, "environment__exact": ""}
    expected = [user_group] if is_found else []

    page = admin_client.get(url("usergroups_usergroup_changelist"), {"q": "needle"})

    assert list(page.context["cl"].queryset) == expected
    model = "usergroups_usergroup"
    assert listed(admin_client, model, q="needle", **filters) == {*expected}
    is_limited = "of the first 10, which were searched" in page.content.decode()
    assert is_limited is not is_found
    # At most ten rows are left that match the filter.
    UserGroup.objects.filter(pk=others[0].pk).update(environment="Testing")
    found = listed(admin_client, model, q="needle", environment__exact="")
    assert found == {user_group}


# The list of all bookmarks and that of a group have different orders.
@pytest.mark.parametrize("is_filtered", [False, True], ids=["all", "of a group"])
@pytest.mark.parametrize(
    ("excess", "is_found"), [(0, True), (1, False)], ids=["as much", "more"]
)
def test_a_search_reads_a_limited_amount_of_text(
    admin_client, user_group, excess, is_found, is_filtered
):
    oldest = BookmarkFactory(
        user_group=user_group, url="https://needle.test/", title=""
    )
    # 2,000,000 characters with the oldest: 222 bookmarks with 9,000 each, and
    # one with the rest
    sizes = [8_000] * 222 + [980 + excess]
    Bookmark.objects.bulk_create(
        Bookmark(
            user_group=user_group,
            url=f"https://example.com/{number}/".ljust(size, "x"),
            title="x" * 1_000,
        )
        for number, size in enumerate(sizes)
    )

    query = {"q": "needle"}
    if is_filtered:
        query["user_group__id__exact"] = user_group.pk
    page = admin_client.get(url("bookmarks_bookmark_changelist"), query)

    assert (oldest in page.context["cl"].queryset) == is_found
    is_limited = "of the first 223, which were searched" in page.content.decode()
    assert is_limited is not is_found


@pytest.mark.parametrize("model", ["bookmarks_bookmark", "usergroups_event"])
def test_a_list_that_cannot_be_sorted_ignores_the_parameter_for_it(
    admin_client, everything, model
):
    for query in ("", "?o=1", "?o=-1.2"):
        page = admin_client.get(url(f"{model}_changelist") + query)

        assert set(page.context["cl"].queryset.query.order_by) == {"-id"}


def test_the_newest_rows_are_sorted(admin_client, user_group, ten_rows_listed):
    others = UserGroup.objects.bulk_create(
        UserGroup(team=user_group.team, provided_id=f"other_{n}", name="Other")
        for n in range(10)
    )
    UserGroup.objects.filter(pk=user_group.pk).update(name="First")

    pages = [
        admin_client.get(url("usergroups_usergroup_changelist"), query)
        for query in ({"o": "1"}, {"o": "1", "team__id__exact": user_group.team_id})
    ]
    UserGroup.objects.filter(pk=others[-1].pk).delete()
    pages.append(admin_client.get(url("usergroups_usergroup_changelist"), {"o": "1"}))

    first_rows = [page.context["cl"].result_list[0] for page in pages]
    assert first_rows == [others[-1], others[-1], user_group]
    limited = [
        "Only the newest 10,000 are sorted." in str(page.content) for page in pages
    ]
    # There may be more than ten.
    assert limited == [True, True, True]


# The list of bookmarks has no such links.
@pytest.mark.parametrize("model", MODELS[:-1])
def test_every_link_that_filters_or_sorts_a_list_works(admin_client, everything, model):
    address = url(f"{model}_changelist")
    page = admin_client.get(address)

    links = re.findall(r'href="(\?[^"]+)"', page.content.decode())
    assert links
    for link in links:
        assert admin_client.get(address + html.unescape(link)).status_code == 200


NUMBERS = count()  # so that the names of rows are unique


def fill(number):
    """Create ``number`` rows of each model: teams with a user group each, and
    rows of the oldest user group.

    Return the oldest row of each model, by model.
    """
    names = [f"e{next(NUMBERS)}" for _ in range(number)]
    teams = Team.objects.bulk_create(Team(name=name) for name in names)
    UserGroup.objects.bulk_create(
        UserGroup(team=team, provided_id="a", name="A") for team in teams
    )
    first = UserGroup.objects.order_by("pk")[0]
    for model, owner in (
        (ApiToken, {"team": first.team}),
        (AccessToken, {"user_group": first, **first.scope}),
    ):
        tokens = [model(**owner, name="e") for _ in names]
        for token in tokens:
            token.assign_secret()
        model.objects.bulk_create(tokens)
    collections = Collection.objects.bulk_create(
        Collection(user_group=first, name=name) for name in names
    )
    Bookmark.objects.bulk_create(
        Bookmark(
            user_group=first,
            collection=collection,
            url=f"https://example.com/{collection.name}",
        )
        for collection in collections
    )
    return {
        "usergroups_team": first.team,
        "usergroups_usergroup": first,
        "usergroups_apitoken": ApiToken.objects.order_by("pk")[0],
        "bookmarks_collection": Collection.objects.order_by("pk")[0],
        "bookmarks_accesstoken": AccessToken.objects.order_by("pk")[0],
        "bookmarks_bookmark": Bookmark.objects.order_by("pk")[0],
    }


def queries_of_pages(client, rows):
    """Return the queries of each page, by the name of the page."""
    pages = {"index": url("index")}
    for model, row in rows.items():
        pages[f"{model} list"] = url(f"{model}_changelist")
        pages[f"{model} search"] = url(f"{model}_changelist") + "?q=e"
        pages[f"{model} page"] = url(f"{model}_change", row.pk)
        pages[f"{model} deletion"] = url(f"{model}_delete", row.pk)
    pages["bookmarks of a group"] = (
        url("bookmarks_bookmark_changelist")
        + f"?user_group__id__exact={rows['usergroups_usergroup'].pk}"
    )
    queries = {}
    warm_up()
    for name, address in pages.items():
        with CaptureQueriesContext(connection) as captured:
            response = client.get(address)
        assert response.status_code == 200, name
        queries[name] = [query["sql"] for query in captured]
    return queries


EXPECTED = {
    # Each page: the session and the user. The index: for each of two kinds of
    # tokens, those with refused calls and the expiring ones; the imports, which
    # are looked for among the newest events; and the last events.
    "index": 9,
    # The count, up to 10,000, and the rows with their owners.
    **{f"{model} list": 4 for model in MODELS},
    # The same, and the sizes of the rows to search.
    **{f"{model} search": 5 for model in MODELS},
    # The last use of the listed owners.
    "usergroups_team list": 4,
    "usergroups_team search": 5,
    "usergroups_usergroup list": 4,
    "usergroups_usergroup search": 5,
    # The collections of bookmarks are read by a query of their own.
    "bookmarks_bookmark list": 5,
    "bookmarks_bookmark search": 6,
    # The same as a list, and the user group that the filter shows, with its
    # team.
    "bookmarks of a group": 7,
    # The row with its owners, and a count for each list of related rows. For a
    # bookmark, its collection, and the same for the field. For the owner of
    # tokens, the newest of them, and the last events.
    "usergroups_team page": 10,
    "usergroups_usergroup page": 8,
    "usergroups_apitoken page": 3,
    "bookmarks_collection page": 4,
    "bookmarks_accesstoken page": 3,
    "bookmarks_bookmark page": 5,
    # The row with its owners, the counts of what is deleted with it, and the
    # number of tokens of each kind that are in use.
    "usergroups_team deletion": 10,
    "usergroups_usergroup deletion": 7,
    "usergroups_apitoken deletion": 3,
    "bookmarks_collection deletion": 5,
    "bookmarks_accesstoken deletion": 3,
    "bookmarks_bookmark deletion": 4,
}
"""The number of queries, by the name of a page."""


def test_pages_take_the_same_queries_for_few_and_for_many_rows(
    admin_client, monkeypatch
):
    monkeypatch.setattr(ModelAdmin, "list_per_page", 20)
    admin_client.get(url("index"))  # caches the content types
    few = queries_of_pages(admin_client, fill(10))
    many = queries_of_pages(admin_client, fill(21))  # more than a page of a list

    assert {page: len(queries) for page, queries in few.items()} == EXPECTED
    assert {page: len(queries) for page, queries in many.items()} == EXPECTED
    counts = [sql for queries in many.values() for sql in queries if "COUNT(*)" in sql]
    assert counts
    for sql in counts:
        # A list counts up to 10,000 rows, and a deletion up to 100,001.
        assert re.search(r"LIMIT (10000|100001)\)", sql), sql[:1_000]
        # Only the page of a token looks for its successor.
        assert "JSON" not in sql, sql


@pytest.mark.parametrize("model", MODELS)
def test_an_empty_list_explains_itself(admin_client, model):
    page = admin_client.get(url(f"{model}_changelist")).content.decode()

    assert re.search(r'<p class="empty">Nothing here yet\.', page)
    assert "Show all" not in page


OWNERS = {
    "usergroups_usergroup": ["team_link"],
    "usergroups_apitoken": ["team_link"],
    "bookmarks_collection": ["user_group_link", "team_link"],
    "bookmarks_accesstoken": ["user_group_link", "team_link"],
    "bookmarks_bookmark": ["user_group_link", "team_link"],
}


def cell(page, column):
    pattern = rf'<td class="field-{column}"[^>]*>(.*?)</td>'
    return re.search(pattern, page.content.decode(), re.DOTALL)[1]


@pytest.mark.parametrize(("model", "columns"), OWNERS.items())
def test_the_owners_of_a_row_link_to_their_pages(
    admin_client, everything, model, columns
):
    group = everything["usergroups_usergroup"]
    UserGroup.objects.filter(pk=group.pk).update(name="<script>", provided_id="<b>")
    addresses = {
        "user_group_link": url("usergroups_usergroup_change", group.pk),
        "team_link": url("usergroups_team_change", group.team_id),
    }

    page = admin_client.get(url(f"{model}_changelist"))

    for column in columns:
        assert cell(page, column).startswith(f'<a href="{addresses[column]}">')
    if "user_group_link" in columns:
        escaped = '&lt;script&gt; <small class="second-line">&lt;b&gt;'
        assert escaped in cell(page, "user_group_link")


def test_saving_stays_on_the_page_which_leads_back_to_the_filtered_list(
    admin_client, everything
):
    collection = everything["bookmarks_collection"]
    filters = quote(f"user_group__id__exact={collection.user_group_id}")
    query = f"?_changelist_filters={filters}"
    address = url("bookmarks_collection_change", collection.pk) + query

    saved = admin_client.post(address, {"name": "New"}, follow=True)

    assert saved.redirect_chain == [(address, 302)]
    content = saved.content.decode()
    assert f"?user_group__id__exact={collection.user_group_id}" in content
    for button in ("_continue", "_addanother"):
        assert f'name="{button}"' not in content


def related(client, model, row):
    """Return, by name, the lists that the page of a row links to, with the
    number of their rows and their links.
    """
    page = client.get(url(f"{model}_change", row.pk))
    return {each["name"]: each for each in page.context["related"]}


def labels_of_links(each):
    return [label for label, _ in each.get("links", [])]


def test_the_page_of_a_team_counts_and_links_everything(admin_client, everything):
    group = everything["usergroups_usergroup"]
    AccessTokenFactory(user_group=UserGroupFactory(team=group.team))
    ApiTokenFactory()
    BookmarkFactory()

    links = related(admin_client, "usergroups_team", group.team)

    assert {name: each["count"] for name, each in links.items()} == {
        "user groups": "2",
        "API tokens": "1",
        "access tokens": "2",
        "collections": "1",
        "bookmarks": "1",
    }
    for each in links.values():
        page = admin_client.get(each["url"])
        assert str(page.context["cl"].result_count) == each["count"]


def test_the_page_of_a_group_links_to_forms_of_the_group_and_back(
    admin_client, user_group
):
    links = related(admin_client, "usergroups_usergroup", user_group)

    assert {name: labels_of_links(each) for name, each in links.items()} == {
        "access tokens": ["Add access token"],
        "collections": ["Add collection"],
        "bookmarks": [
            "Add bookmark",
            "Import",
            "Export as HTML",
            "Export as JSONL",
            "Export as CSV",
        ],
    }
    for each in links.values():
        for label, address in each.get("links", []):
            response = admin_client.get(address)
            content = response.getvalue().decode()
            assert response.status_code == 200
            # An export is a file, and the other links lead to forms.
            if not label.startswith("Export"):
                assert f'value="{user_group.pk}" selected' in content
    [(_, address)] = links["collections"]["links"]
    saved = admin_client.post(address, {"user_group": user_group.pk, "name": "Shelf"})
    assert saved.url == url("usergroups_usergroup_change", user_group.pk)


def test_pages_that_the_operator_may_not_open_are_not_linked(client, user_group):
    log_in_with(client, "view_team", "view_usergroup", "view_bookmark", "add_usergroup")

    links = related(client, "usergroups_team", user_group.team)

    assert {name: labels_of_links(each) for name, each in links.items()} == {
        "user groups": ["Add user group"],
        "bookmarks": [],
    }
