"""Concurrent calls on the same objects take effect as if one had come after
the other, and none fails.
"""

from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from itertools import chain

import pytest
from django.db import transaction

from tests.bookmarks.factories import AccessTokenFactory
from tests.queries import queries_of
from tests.usergroups.factories import ApiTokenFactory

CALLERS = 6
"""The number of calls at once, which is the maximum of one owner in a process.
"""
CALLS = 33
"""The number of calls in a test: several for each caller, so that calls overlap
even if a caller starts late.
"""


def test_concurrent_updates_of_different_fields_are_all_kept(service):
    """Each call updates one field. A lost update would leave the old value."""
    values = {
        "name": "Concurrent",
        "mapping": {"concurrent": 1},
        "properties": {"concurrent": 1},
    }
    service.update_user_group(name="Before", mapping=None, properties=None)

    with ThreadPoolExecutor(CALLERS) as pool:
        calls = [
            pool.submit(service.update_user_group, **{field: value})
            for _ in range(CALLS // len(values))
            for field, value in values.items()
        ]
        statuses = {call.result().status_code for call in calls}

    headers = {"Authorization": f"Token {service.api_token}"}
    path = "/api/user?user_group_id=example_1"
    group = service.request("GET", path, headers=headers).json()["user_group"]
    assert statuses == {200}
    assert {field: group[field] for field in values} == values


def test_concurrent_posts_of_one_url_make_one_bookmark(service):
    with ThreadPoolExecutor(CALLERS) as pool:
        calls = [
            pool.submit(service.create_bookmark, url="https://example.com/concurrent")
            for _ in range(CALLS)
        ]
        answers = [call.result() for call in calls]

    statuses = Counter(answer.status_code for answer in answers)
    assert statuses == {201: 1, 200: CALLS - 1}
    assert len({answer.json()["bookmark"]["id"] for answer in answers}) == 1


@pytest.mark.parametrize(
    ("scheme", "path"), [("Token", "/api/token/rotate"), ("Bearer", "/v1/token/rotate")]
)
@pytest.mark.parametrize(
    ("grace", "refused"),
    # Without grace, the token is not valid for the calls that come later. With
    # it, each replaces the successor of the one before, up to the limit of ten.
    [(0, {401, 409}), (60, {429})],
    ids=["at once", "grace"],
)
def test_after_concurrent_rotations_of_a_token_one_successor_works(
    service, scheme, path, grace, refused
):
    api_token, access_token = service.issue_tokens(f"{scheme} {grace}")
    token = {"Token": api_token, "Bearer": access_token}[scheme]
    headers = {"Authorization": f"{scheme} {token}"}

    with ThreadPoolExecutor(CALLERS) as pool:
        calls = [
            pool.submit(
                service.request, "POST", path, json={"grace": grace}, headers=headers
            )
            for _ in range(CALLS)
        ]
        answers = [call.result() for call in calls]

    issued = [answer for answer in answers if answer.status_code == 201]
    statuses = {answer.status_code for answer in answers if answer not in issued}
    assert statuses <= refused
    described = Counter()
    for answer in issued:
        secret = answer.json()["token"]["secret"]
        headers = {"Authorization": f"{scheme} {secret}"}
        read = service.request("GET", path.removesuffix("/rotate"), headers=headers)
        described[read.status_code] += 1
    assert described.pop(200) == 1
    assert described.keys() <= {401}


def test_concurrent_batches_issue_no_more_tokens_than_are_allowed(service):
    api_token, _ = service.issue_tokens("batches at the maximum")
    headers = {"Authorization": f"Token {api_token}"}
    # With the access token that it has, the user group may have 999 others.
    body = {"user_group_ids": ["a"] * 400}

    def issue(_):
        path = "/api/user/access-tokens/batch"
        response = service.request("POST", path, json=body, headers=headers)
        return [result["status"] for result in response.json()["results"]]

    with ThreadPoolExecutor(3) as pool:
        statuses = Counter(chain.from_iterable(pool.map(issue, range(3))))

    assert statuses == {201: 999, 409: 201}


def test_a_revocation_with_successors_and_a_rotation_at_once_leave_no_token(service):
    api_token, _ = service.issue_tokens("leaked tokens")
    headers = {"Authorization": f"Token {api_token}"}
    path = "/api/user/access-tokens"
    group = {"user_group_id": "a"}

    def rotate(secret):
        headers = {"Authorization": f"Bearer {secret}"}
        body = {"grace": 60}
        return service.request("POST", "/v1/token/rotate", json=body, headers=headers)

    for _ in range(10):
        issued = service.request("POST", path, json=group, headers=headers)
        token = issued.json()["access_token"]
        with ThreadPoolExecutor(2) as pool:
            rotation = pool.submit(rotate, token["secret"])
            revocation = service.request(
                "DELETE", f"{path}/{token['id']}?successors=true", headers=headers
            )
        revoked = [token["id"]]
        if rotation.result().status_code == 201:
            revoked.append(rotation.result().json()["token"]["id"])
        assert revocation.json()["revoked"] == revoked


@pytest.fixture
def inserts_of(client, user_group):
    """Return a function that makes a POST call and returns its INSERT
    statements.
    """
    api_token = ApiTokenFactory(team=user_group.team, recently_used=True)
    access_token = AccessTokenFactory(user_group=user_group, recently_used=True)

    def inserts_of(path, body):
        authorization = f"Bearer {access_token.secret}"
        if path.startswith("/api/"):
            authorization = f"Token {api_token.secret}"
        headers = {"Authorization": authorization}
        statements = queries_of(
            lambda: client.post(path, body, "application/json", headers=headers)
        )
        return [sql for sql in statements if sql.startswith("INSERT")]

    return inserts_of


@pytest.mark.parametrize(
    ("path", "field", "key", "pattern"),
    [
        ("/v1/bookmarks/batch", "bookmarks", "url", "https://example.com/{}"),
        ("/api/users/batch", "user_groups", "user_group_id", "ordered_{}"),
    ],
    ids=["bookmarks", "user groups"],
)
def test_batches_with_the_same_items_insert_them_in_the_same_order(
    inserts_of, path, field, key, pattern
):
    """Two batches with the same items in different orders would otherwise wait
    for each other, which is a deadlock.
    """
    orders = []
    for numbers in ("123456", "654321"):
        values = [pattern.format(number) for number in numbers]
        items = [{key: value} for value in values]
        with transaction.atomic():
            sql = "".join(inserts_of(path, {field: items}))
            # so that the second batch inserts the same items again
            transaction.set_rollback(True)
        orders.append(sorted(values, key=sql.index))

    assert orders[0] == orders[1]
