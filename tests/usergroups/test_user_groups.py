"""The operations on user groups, except the update."""

from datetime import timedelta
from math import ceil
from urllib.parse import parse_qsl, urlsplit

import pytest
from django.apps import apps
from django.db import IntegrityError, connection
from django.utils import timezone

from tests.answers import (
    changes,
    detail,
    errors,
    etag_of,
    listed,
    statuses,
    time_json,
    user_group_detail_json,
    user_group_json,
)
from tests.queries import concurrently, queries_of
from tests.usergroups.factories import UserGroupFactory
from usergroups.api import pagination
from usergroups.events import Event, Kind, keys_text
from usergroups.models import UserGroup

# GET api/user


def test_a_group_is_read(call_usergroups, user_group):
    response = call_usergroups(
        "GET", "user", query={"user_group_id": user_group.provided_id}
    )

    assert response.status_code == 200
    assert response.json() == {
        "success": 1,
        "user_group": user_group_detail_json(user_group),
    }


@pytest.mark.parametrize("method", ["GET", "DELETE"])
def test_no_other_group_stands_for_an_unknown_one(call_usergroups, user_group, method):
    response = call_usergroups(method, "user", query={"user_group_id": "unknown"})

    assert errors(response, 404) == [(None, "user_group_not_found")]
    assert UserGroup.objects.get() == user_group


@pytest.mark.parametrize(
    ("query", "code"),
    [
        ({}, "required"),
        ({"user_group_id": ""}, "blank"),
        ({"user_group_id": "a" * 256}, "max_length"),
    ],
)
def test_the_query_must_contain_a_valid_id(call_usergroups, query, code):
    response = call_usergroups("GET", "user", query=query)

    assert errors(response) == [("user_group_id", code)]


@pytest.mark.parametrize(
    "provided_id", [" a ", "a+b", "a&b=c", "ü", "\N{GRINNING FACE}", "a%20b", "\n"]
)
def test_ids_in_the_query_are_compared_exactly(
    call_usergroups, user_group, provided_id
):
    UserGroup.objects.update(provided_id=provided_id)

    response = call_usergroups("GET", "user", query={"user_group_id": provided_id})

    assert response.json()["user_group"]["provided_id"] == provided_id


@pytest.mark.parametrize("method", ["GET", "DELETE"])
def test_an_id_in_the_body_is_refused_with_a_hint_at_the_query_string(
    call_usergroups, user_group, method
):
    body = {"user_group_id": user_group.provided_id}
    response = call_usergroups(method, "user", body)

    assert errors(response) == [("user_group_id", "required")]
    hint = "This parameter is required. Send it in the query string, not in the body."
    assert detail(response) == hint


# POST api/user


def test_a_group_is_created(call_usergroups, api_token):
    body = {
        "user_group_id": "new & one",
        "name": "New",
        "mapping": {"40": 1},
        "properties": {"a": 1},
    }

    response = call_usergroups("POST", "user", body)

    user_group = UserGroup.objects.get(provided_id="new & one")
    assert response.status_code == 201
    assert response.json() == {
        "success": 1,
        "user_group": user_group_json(user_group),
        "new_user_group": True,
    }
    assert user_group.name == "New"
    assert user_group.mapping == {"40": 1}
    assert user_group.properties == {"a": 1}
    assert user_group.team == api_token.team
    assert user_group.environment == api_token.environment


def test_an_existing_group_is_returned_unchanged(call_usergroups, user_group):
    response = call_usergroups(
        "POST", "user", {"user_group_id": user_group.provided_id, "name": "Other"}
    )

    assert response.status_code == 200
    assert response.json() == {
        "success": 1,
        "user_group": user_group_json(user_group),
        "new_user_group": False,
    }
    assert "Location" not in response


CREATE_A = {
    "user": {"user_group_id": "a"},
    "users-batch": {"user_groups": [{"user_group_id": "a"}]},
}
"""The bodies of a single call and of a batch, by URL name."""


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("url_name", CREATE_A)
def test_a_concurrent_deletion_of_the_team_is_answered_with_401(
    call_usergroups, user_group, url_name
):
    with concurrently("INSERT", user_group.team.delete):
        response = call_usergroups("POST", url_name, CREATE_A[url_name])

    assert response.status_code == 401
    assert not UserGroup.objects.exists()


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize(
    ("url_name", "properties"), [("user", None), ("users-batch", {"b": 1})]
)
def test_a_concurrently_created_group_is_found(
    call_usergroups, user_group, url_name, properties
):
    """A batch updates the group, and a single call returns it unchanged."""
    item = {"user_group_id": "a", "properties": {"b": 1}}
    body = item if url_name == "user" else {"user_groups": [item]}
    theirs = {"team": user_group.team, "provided_id": "a", "name": "Theirs"}

    with concurrently("INSERT", lambda: UserGroupFactory(**theirs)):
        response = call_usergroups("POST", url_name, body)

    group = UserGroup.objects.get(provided_id="a")
    assert response.status_code == 200
    assert (group.name, group.properties) == ("Theirs", properties)


@pytest.mark.parametrize("url_name", CREATE_A)
def test_a_constraint_violated_in_each_of_four_attempts_is_a_fault(
    call_usergroups, caplog, url_name
):
    attempts = []

    def conflict(execute, sql, params, many, context):
        if sql.startswith("INSERT"):
            attempts.append(sql)
            raise IntegrityError('violates check constraint "name"')
        return execute(sql, params, many, context)

    with connection.execute_wrapper(conflict):
        response = call_usergroups("POST", url_name, CREATE_A[url_name])

    assert errors(response, 500) == [(None, "internal_error")]
    assert "Retry-After" not in response
    assert len(attempts) == 4
    assert 'IntegrityError: violates check constraint "name"' in caplog.text


# POST api/user/token


def test_the_token_of_a_group_is_rotated(call_usergroups, user_group):
    response = call_usergroups(
        "POST", "user-token", {"user_group_id": user_group.provided_id}
    )

    old = user_group.token
    user_group.refresh_from_db()
    assert response.json() == {"success": 1, "user_group": user_group_json(user_group)}
    assert user_group.token.startswith("ugt_")
    assert user_group.token != old


# POST api/user/resolve


def test_a_group_is_found_by_its_user_group_token(call_usergroups, user_group):
    UserGroupFactory(team=user_group.team)

    response = call_usergroups("POST", "user-resolve", {"token": user_group.token})

    assert response.json() == {
        "success": 1,
        "user_group": user_group_detail_json(user_group),
    }


@pytest.mark.parametrize(
    ("token", "code"),
    [
        (None, "null"),
        ("", "blank"),
        (1, "invalid"),
        ("a" * 65, "max_length"),
        ([], "invalid"),
    ],
)
def test_an_invalid_user_group_token_is_refused(call_usergroups, token, code):
    response = call_usergroups("POST", "user-resolve", {"token": token})

    assert errors(response) == [("token", code)]


@pytest.mark.parametrize("token", ["", "unknown", "\0", "\ud800", "ugt_\u2028"])
def test_any_text_that_is_not_a_token_raises_does_not_exist(user_group, token):
    with pytest.raises(UserGroup.DoesNotExist):
        UserGroup.objects.get_by_token(token)


# POST api/users/batch


def test_a_batch_reports_the_result_of_each_item(call_usergroups, user_group):
    items = [
        {"user_group_id": "new", "properties": {"a": 1.0}},
        {"user_group_id": user_group.provided_id, "mapping": {"40": "eu"}},
        {"user_group_id": "bad", "name": "", "mapping": {"1": None}},
        {},
        "text",
        None,
        {"user_group_id": "new", "name": "Named"},
    ]

    response = call_usergroups("POST", "users-batch", {"user_groups": items})

    old_name = user_group.name
    user_group.refresh_from_db()
    new = UserGroup.objects.exclude(pk=user_group.pk).get()
    results = response.json()["results"]
    assert statuses(response) == [201, 200, 400, 400, 400, 400, 200]
    for result, status, group in (
        (results[0], 201, new),
        (results[1], 200, user_group),
    ):
        assert result == {
            "status": status,
            "success": 1,
            "changed": True,
            "updated_at": time_json(group.updated_at),
            "etag": etag_of(group.updated_at),
            "user_group": user_group_json(group),
            "new_user_group": group == new,
        }
    assert changes(response)[2:] == [False] * 5
    assert [
        [error["attr"] for error in result["errors"]] for result in results[2:6]
    ] == [["name", "mapping.1"], ["user_group_id"], [None], [None]]
    assert (new.name, new.properties) == ("Named", {"a": 1.0})
    assert (user_group.name, user_group.mapping) == (old_name, {"40": "eu"})


def test_an_item_is_refused_if_its_group_has_changed(call_usergroups, user_group):
    provided_id = user_group.provided_id
    current = etag_of(user_group.updated_at)
    items = [
        {"user_group_id": provided_id, "name": "A", "if_match": '"0"'},
        {"user_group_id": "absent", "if_match": current},
        {"provided_id": provided_id, "name": "B", "if_match": current},
        {"user_group_id": "new"},
    ]

    response = call_usergroups("POST", "users-batch", {"user_groups": items})

    results = response.json()["results"]
    assert statuses(response) == [412, 412, 200, 201]
    assert changes(response) == [False, False, True, True]
    assert results[0]["errors"][0]["code"] == "precondition_failed"
    user_group.refresh_from_db()
    assert (user_group.name, results[2]["etag"]) == (
        "B",
        etag_of(user_group.updated_at),
    )
    assert not UserGroup.objects.filter(provided_id="absent").exists()


@pytest.mark.django_db(transaction=True)
def test_an_item_whose_group_changes_right_before_the_write_is_refused(
    call_usergroups, user_group
):
    etag = etag_of(user_group.updated_at)
    item = {"user_group_id": user_group.provided_id, "name": "A", "if_match": etag}

    def change():
        UserGroup.objects.update(name="Other", updated_at=timezone.now())

    with concurrently('SELECT "usergroups_usergroup"', change):
        response = call_usergroups("POST", "users-batch", {"user_groups": [item]})

    assert statuses(response) == [412]
    user_group.refresh_from_db()
    assert user_group.name == "Other"


# POST api/users/batch/delete


def delete_many(call_usergroups, *ids):
    return call_usergroups("POST", "users-batch-delete", {"user_group_ids": ids})


def test_a_batch_deletes_each_group_that_exists(call_usergroups, user_group):
    other = UserGroupFactory(team=user_group.team)
    of_another_team = UserGroupFactory()
    ids = [user_group.provided_id, "unknown", of_another_team.provided_id, 5]

    response = delete_many(call_usergroups, *ids, user_group.provided_id)

    results = response.json()["results"]
    assert results[0] == {"status": 200, "success": 1, "changed": True}
    assert statuses(response) == [200, 404, 404, 400, 404]
    assert changes(response) == [True, *[False] * 4]
    assert results[1]["errors"][0]["code"] == "user_group_not_found"
    assert set(UserGroup.objects.all()) == {other, of_another_team}


def test_a_batch_ends_its_deletions_at_the_time_limit(
    call_usergroups, user_group, settings
):
    settings.USERGROUPS_CALL_TIME_LIMIT = 0

    response = delete_many(call_usergroups, user_group.provided_id)

    [result] = response.json()["results"]
    assert (result["status"], result["type"]) == (503, "server_error")
    assert result["errors"][0]["code"] == "time_limit_exceeded"
    assert UserGroup.objects.get() == user_group


def test_a_batch_deletes_many_small_groups_with_the_statements_of_a_few(
    call_usergroups, user_group
):
    few, many = [
        [
            group.provided_id
            for group in UserGroupFactory.create_batch(number, team=user_group.team)
        ]
        for number in (2, 50)
    ]

    queries_of_few = queries_of(delete_many, call_usergroups, *few)
    queries_of_many = queries_of(delete_many, call_usergroups, *many)

    assert len(queries_of_few) == len(queries_of_many)
    assert UserGroup.objects.get() == user_group


@pytest.mark.skipif(
    not apps.is_installed("bookmarks"), reason="needs a dependant of a user group"
)
def test_the_deletions_of_a_batch_are_an_event(call_usergroups, user_group):
    from bookmarks.testing import BookmarkFactory  # noqa: PLC0415

    bookmark = BookmarkFactory(user_group__team=user_group.team)
    ids = [user_group.provided_id, bookmark.user_group.provided_id]

    delete_many(call_usergroups, *ids)

    event = Event.objects.get(kind=Kind.DELETED)
    assert event.keys == keys_text([user_group.pk, bookmark.user_group_id])
    assert event.counts == {"bookmarks.bookmark": 1, "usergroups.usergroup": 2}


def test_unknown_groups_of_a_batch_take_one_statement(call_usergroups):
    ids = [f"unknown_{number}" for number in range(1000)]

    queries = queries_of(delete_many, call_usergroups, *ids)

    # the token, and which groups exist
    assert len(queries) == 2


def test_a_batch_takes_few_statements(call_usergroups, user_group):
    existing = UserGroupFactory.create_batch(400, team=user_group.team)
    ids = [group.provided_id for group in existing]
    ids += [f"new_{n}" for n in range(600)]
    items = [{"user_group_id": provided_id, "name": "New"} for provided_id in ids]

    queries = queries_of(call_usergroups, "POST", "users-batch", {"user_groups": items})

    # bulk_create() inserts the new groups and updates the others (ON
    # CONFLICT). It needs several statements if the database limits the
    # parameters of a statement: a new group has 10, and an existing one
    # 11, with its id.
    max_parameters = connection.features.max_query_params or 10**6
    inserts_of_new = ceil(600 / (max_parameters // 10))
    inserts_of_existing = ceil(400 / (max_parameters // 11))
    inserts = [sql for sql in queries if sql.startswith("INSERT")]
    assert len(inserts) == inserts_of_new + inserts_of_existing
    # The others read the token, the sizes of the stored groups (to limit the
    # response), these groups and the new ones.
    assert len(queries) - len(inserts) == 4
    assert UserGroup.objects.filter(name="New").count() == 1000


# GET api/users


def follow(call_usergroups, link):
    """Return the page to which the link of another page refers."""
    query = dict(parse_qsl(urlsplit(link).query))
    return call_usergroups("GET", "users", query=query).json()


def test_groups_are_listed_newest_first(call_usergroups, user_group):
    others = UserGroupFactory.create_batch(2, team=user_group.team)
    UserGroupFactory()  # of another team
    UserGroupFactory(team=user_group.team, environment="Testing")

    response = call_usergroups("GET", "users")

    assert response.json() == {
        "success": 1,
        "next": None,
        "previous": None,
        "next_cursor": None,
        "user_groups": [
            listed(user_group_detail_json(group), group)
            for group in (*reversed(others), user_group)
        ],
    }


@pytest.mark.parametrize(
    ("order", "names"), [("newest", ["B", "C", "A"]), ("oldest", ["A", "C", "B"])]
)
def test_groups_that_were_updated_are_in_the_order_of_their_updates(
    call_usergroups, user_group, order, names
):
    now = timezone.now()
    for name, days in (("A", 3), ("B", 1), ("C", 2), ("too early", 4)):
        at = now - timedelta(days=days)
        UserGroupFactory(team=user_group.team, name=name, updated_at=at)
    since = (now - timedelta(days=3)).isoformat()
    query = {"updated_since": since, "order": order, "limit": 2}
    user_group.delete()

    first = call_usergroups("GET", "users", query=query).json()
    second = follow(call_usergroups, first["next"])

    listed = [*first["user_groups"], *second["user_groups"]]
    assert [group["name"] for group in listed] == names
    assert second["next"] is None


def test_a_group_that_changes_after_the_first_page_is_left_to_the_next_poll(
    call_usergroups, user_group
):
    groups = UserGroupFactory.create_batch(3, team=user_group.team)
    since = {"updated_since": groups[0].updated_at.isoformat()}
    query = {**since, "order": "oldest", "limit": 1}
    first = call_usergroups("GET", "users", query=query).json()

    change = {"user_group_id": groups[1].provided_id, "name": "Changed"}
    call_usergroups("PUT", "user", change)
    second = follow(call_usergroups, first["next"])
    next_poll = call_usergroups("GET", "users", query=since).json()

    ids = [group["provided_id"] for group in second["user_groups"]]
    assert ids == [groups[2].provided_id]
    assert second["next"] is None
    polled = [group["provided_id"] for group in next_poll["user_groups"]]
    assert groups[1].provided_id in polled


@pytest.mark.parametrize(
    ("prefix", "names"),
    [
        ("A", {"Alpha", "A%b"}),
        ("a", {"alpha"}),
        ("A%", {"A%b"}),
        ("Ü", {"Über"}),
        ("lpha", set()),
        (" ", {" spaced"}),
    ],
)
def test_groups_are_filtered_by_a_prefix_of_their_name(
    call_usergroups, user_group, prefix, names
):
    for name in ("Alpha", "alpha", "A%b", "Über", " spaced"):
        UserGroupFactory(team=user_group.team, name=name)

    response = call_usergroups("GET", "users", query={"name": prefix})

    assert {group["name"] for group in response.json()["user_groups"]} == names


@pytest.mark.parametrize(
    ("number", "pages"), [(10, [1]), (11, [0, 1])], ids=["as many", "one more"]
)
def test_a_page_of_a_search_by_name_scans_a_limited_number_of_groups(
    call_usergroups, user_group, monkeypatch, number, pages
):
    monkeypatch.setattr(pagination, "MAX_SCANNED", 10)
    UserGroup.objects.filter(pk=user_group.pk).update(name="Needle")
    UserGroupFactory.create_batch(number - 1, team=user_group.team)

    found = [call_usergroups("GET", "users", query={"name": "Needle"}).json()]
    while found[-1]["next"]:
        found.append(follow(call_usergroups, found[-1]["next"]))

    assert [len(page["user_groups"]) for page in found] == pages
