"""Lists as CSV files."""

import csv
import html
import re
from datetime import UTC, datetime
from io import StringIO

import pytest
from django.utils import timezone

from tests.admin.actions import allow_only, save, url
from tests.admin.german import GERMAN
from tests.admin.test_lists import MODELS
from tests.bookmarks.factories import BookmarkFactory
from tests.queries import queries_of
from tests.usergroups.factories import ApiTokenFactory, TeamFactory, UserGroupFactory
from usergroups.admin_tools import csv_lists
from usergroups.models import Team

pytestmark = pytest.mark.django_db


def text_of(response):
    assert response.status_code == 200
    assert response["Content-Type"] == "text/csv; charset=utf-8"
    text = response.getvalue().decode()
    # Without a byte order mark, Excel does not recognize UTF-8.
    assert text.startswith("\ufeff")
    return text.removeprefix("\ufeff")


def rows_of(client, model, **query):
    """Return the cells of the CSV file of a list."""
    text = text_of(client.get(url(f"{model}_csv"), query))
    return list(csv.reader(StringIO(text)))


@pytest.mark.parametrize(
    "model", [*MODELS, "auth_user", "auth_group", "usergroups_event"]
)
def test_each_list_has_a_csv_file(admin_client, everything, model):
    admin_client.post(url("usergroups_team_add"), {"name": "New"})  # a change
    header, *rows = rows_of(admin_client, model)

    assert header[0] == "ID"
    number = admin_client.get(url(f"{model}_changelist")).context["cl"].result_count
    assert len(rows) == number
    assert {len(row) for row in rows} <= {len(header)}
    assert "<" not in str(rows)


@pytest.mark.parametrize("model", ["usergroups_apitoken", "bookmarks_bookmark"])
def test_the_file_is_in_the_language_of_the_page(admin_client, everything, model):
    """It is written after the middleware has reset the language."""
    page = admin_client.get(url(f"{model}_changelist"), **GERMAN).content.decode()
    response = admin_client.get(url(f"{model}_csv"), **GERMAN)

    header, *rows = csv.reader(StringIO(text_of(response)))

    headings = re.findall(r'<th scope="col"[^>]*>(.*?)</th>', page, re.DOTALL)
    shown = [re.sub("<[^>]+>", "", each).strip() for each in headings]
    assert [each for each in shown if each][-1] == header[-1]
    assert "Never" not in str(rows)


def test_the_file_has_the_rows_of_the_filtered_and_sorted_list(admin_client):
    team = TeamFactory(name="Acme")
    expires_at = datetime(2099, 5, 3, 12, tzinfo=UTC)
    tokens = [
        ApiTokenFactory(team=team, name=name, expires_at=expires_at)
        for name in ("First & last", "Second")
    ]
    ApiTokenFactory(team=team, revoked=True)
    ApiTokenFactory()
    query = {"team__id__exact": team.pk, "state": "active", "o": "-1.5"}
    page = admin_client.get(url("usergroups_apitoken_changelist"), query)

    links = re.findall(r'href="([^"]*/csv/[^"]*)"', page.content.decode())
    [plain] = (admin_client.get(html.unescape(link)) for link in links)

    text = text_of(plain)
    header, *rows = csv.reader(StringIO(text))
    headings = ["Team", "Environment", "State", "Access", "Expires", "Last used"]
    assert header == ["ID", "Token", *headings]
    expected = ["Acme", "", "Active", "Read, write", "2099-05-03T12:00:00+00:00"]
    for token, row in zip(reversed(tokens), rows, strict=True):
        named = [str(token.pk), f"{token.name} {token.hint}…"]
        assert row == [*named, *expected, "Never"]
    date = timezone.now().date().isoformat()
    assert plain["Content-Disposition"] == (
        f'attachment; filename="api-tokens-{date}.csv"'
    )


def test_the_file_contains_no_formula_and_no_secret(admin_client):
    group = UserGroupFactory(name='=HYPERLINK("x")', provided_id="@a")

    text = text_of(admin_client.get(url("usergroups_usergroup_csv")))

    assert '"\'=HYPERLINK(""x"")",\'@a,' in text
    assert group.token not in text


def test_the_file_has_the_listed_rows_of_which_few_are_read_at_once(
    admin_client, user_group, monkeypatch, ten_rows_listed
):
    monkeypatch.setattr(csv_lists, "CHUNK", 5)
    BookmarkFactory.create_batch(11, user_group=user_group)
    read = []

    statements = queries_of(
        lambda: read.append(text_of(admin_client.get(url("bookmarks_bookmark_csv"))))
    )

    selects = [sql for sql in statements if '"bookmarks_bookmark"."title"' in sql]
    assert len(selects) == 2  # chunks
    assert len(read[0].splitlines()) == 11  # with the header


def test_a_file_of_events_takes_the_same_queries_for_few_and_for_many(admin_client):
    def change_groups(number):
        for user_group in UserGroupFactory.create_batch(number):
            save(admin_client, user_group, name="New")

    def read():
        return text_of(admin_client.get(url("usergroups_event_csv")))

    change_groups(1)
    few = queries_of(read)
    change_groups(5)

    assert len(queries_of(read)) == len(few)
    assert len(read().splitlines()) == 7


def test_the_file_requires_the_permission_to_view_the_list(client):
    BookmarkFactory()
    address = url("bookmarks_bookmark_csv")

    allow_only(client, "bookmarks_bookmark", "view")
    allowed = client.get(address)
    allow_only(client, "bookmarks_bookmark", "add", "delete")
    refused = client.get(address)
    client.logout()

    assert (allowed.status_code, refused.status_code) == (200, 403)
    assert client.get(address)["Location"].startswith(url("login"))


def test_a_file_with_a_malformed_filter_leads_to_the_list(admin_client):
    address = url("usergroups_usergroup_csv")
    answer = admin_client.get(address, {"team__id__exact": "x"})

    assert answer["Location"] == f"{url('usergroups_usergroup_changelist')}?e=1"


def test_a_row_that_is_deleted_meanwhile_is_left_out(admin_client):
    team, deleted = TeamFactory.create_batch(2)

    answer = admin_client.get(url("usergroups_team_csv"))
    Team.objects.filter(pk=deleted.pk).delete()

    [_header, row] = text_of(answer).splitlines()
    assert team.name in row
