"""No sequence of calls shows or changes an object of another owner. A model in memory predicts each answer."""

import json

import pytest
from django.db import transaction
from django.test import Client
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule, run_state_machine_as_test

from bookmarks.models import Bookmark, Collection
from tests.bookmarks.factories import AccessTokenFactory
from tests.usergroups.factories import ApiTokenFactory, TeamFactory
from usergroups.models import UserGroup

OWNERS = st.integers(0, 3)
GROUPS = st.sampled_from(["a", "b"])
NAMES = st.sampled_from(["x", "y"])
URLS = st.sampled_from(["https://example.com/1", "https://example.com/2"])
FOREIGN = {"team_id": 1, "team": 1, "token": "x", "id": "x", "provided_id": "x", "environment": "Testing",
           "api_environment_tag": "Testing", "user_group": 1, "created_at": "2020-01-01T00:00:00Z", "url_digest": "x",
           "updated_at": "2020-01-01T00:00:00Z"}  # fmt: skip


class Isolation(RuleBasedStateMachine):
    """Two teams, each with and without an environment, are four owners of groups with the same ids."""

    def __init__(self):
        super().__init__()
        self.rolled_back = transaction.atomic()
        self.rolled_back.__enter__()
        self.client = Client(raise_request_exception=False)
        teams = TeamFactory.create_batch(2)
        self.scopes = [(team, environment) for team in teams for environment in ("", "Testing")]
        self.tokens = [ApiTokenFactory(team=team, environment=environment) for team, environment in self.scopes]
        self.groups = [{} for _ in self.scopes]
        self.bookmarks, self.collections, self.access = {}, {}, {}

    def call(self, method, path, secret, body=None):
        scheme = "Token" if path.startswith("/api/") else "Bearer"
        response = self.client.generic(
            method, path, json.dumps(body), "application/json", HTTP_AUTHORIZATION=f"{scheme} {secret}"
        )
        assert response.status_code < 500
        return response.status_code, response.json()

    @rule(owner=OWNERS, group=GROUPS, name=NAMES)
    def create_group(self, owner, group, name):
        body = {**FOREIGN, "user_group_id": group, "name": name}
        status, _ = self.call("POST", "/api/user", self.tokens[owner].secret, body)
        assert (status == 201) == (group not in self.groups[owner])
        self.groups[owner].setdefault(group, name)

    @rule(owner=OWNERS, group=GROUPS, name=NAMES)
    def update_group(self, owner, group, name):
        body = {**FOREIGN, "user_group_id": group, "name": name}
        status, _ = self.call("PUT", "/api/user", self.tokens[owner].secret, body)
        assert (status == 200) == (group in self.groups[owner])
        if status == 200:
            self.groups[owner][group] = name

    @rule(owner=OWNERS, group=GROUPS, name=NAMES)
    def put_groups(self, owner, group, name):
        items = [{**FOREIGN, "user_group_id": group, "name": name}]
        status, _ = self.call("POST", "/api/users/batch", self.tokens[owner].secret, {"user_groups": items})
        assert status == 200
        self.groups[owner][group] = name

    @rule(owner=OWNERS, group=GROUPS)
    def delete_group(self, owner, group):
        status, _ = self.call("DELETE", f"/api/user?user_group_id={group}", self.tokens[owner].secret)
        assert (status == 200) == (self.groups[owner].pop(group, None) is not None)
        if status == 200:
            for things in (self.bookmarks, self.collections, self.access):
                things.pop((owner, group), None)

    @rule(owner=OWNERS)
    def list_groups(self, owner):
        _, answer = self.call("GET", "/api/users", self.tokens[owner].secret)
        listed = {group["provided_id"]: group["name"] for group in answer["user_groups"]}
        assert listed == self.groups[owner]

    def secret_of(self, owner, group):
        """Return the secret of a token of the group, or None if there is no such group."""
        if group not in self.groups[owner]:
            return None
        if (owner, group) not in self.access:
            team, environment = self.scopes[owner]
            user_group = UserGroup.objects.get(team=team, environment=environment, provided_id=group)
            self.access[owner, group] = AccessTokenFactory(user_group=user_group).secret
        return self.access[owner, group]

    @rule(owner=OWNERS, group=GROUPS, name=NAMES)
    def create_collection(self, owner, group, name):
        if not (secret := self.secret_of(owner, group)):
            return
        own = self.collections.setdefault((owner, group), {})
        status, answer = self.call("POST", "/v1/collections", secret, {**FOREIGN, "name": name})
        assert (status == 201) == (name not in own.values())
        if status == 201:
            own[answer["collection"]["id"]] = name

    @rule(owner=OWNERS, group=GROUPS, url=URLS, data=st.data())
    def create_bookmark(self, owner, group, url, data):
        """Choose any collection, whoever owns it."""
        if not (secret := self.secret_of(owner, group)):
            return
        all_keys = sorted(key for own in self.collections.values() for key in own)
        place = data.draw(st.none() | st.sampled_from(all_keys or [None]))
        mine = place is None or place in self.collections.get((owner, group), {})
        own = self.bookmarks.setdefault((owner, group), {})
        status, answer = self.call("POST", "/v1/bookmarks", secret, {**FOREIGN, "url": url, "collection": place})
        assert status == (400 if not mine else 200 if (url, place) in own.values() else 201)
        if status == 201:
            own[answer["bookmark"]["id"]] = (url, place)

    @rule(owner=OWNERS, group=GROUPS, data=st.data())
    def use_bookmark(self, owner, group, data):
        """Choose any bookmark, whoever owns it."""
        all_keys = sorted(key for own in self.bookmarks.values() for key in own)
        if not all_keys or not (secret := self.secret_of(owner, group)):
            return
        key = data.draw(st.sampled_from(all_keys))
        own = self.bookmarks.get((owner, group), {})
        method = data.draw(st.sampled_from(["GET", "PATCH", "DELETE"]))
        status, _ = self.call(method, f"/v1/bookmarks/{key}", secret, {**FOREIGN, "title": "t"})
        assert status == (200 if key in own else 404)
        if status == 200 and method == "DELETE":
            del own[key]

    @rule(owner=OWNERS, group=GROUPS)
    def list_bookmarks(self, owner, group):
        if not (secret := self.secret_of(owner, group)):
            return
        _, answer = self.call("GET", "/v1/bookmarks", secret)
        listed = {bookmark["id"]: (bookmark["url"], bookmark["collection"]) for bookmark in answer["bookmarks"]}
        assert listed == self.bookmarks.get((owner, group), {})

    @rule(owner=OWNERS, group=GROUPS)
    def swap_tokens(self, owner, group):
        """Use each kind of token where the other one is required."""
        if secret := self.secret_of(owner, group):
            assert self.call("GET", "/api/users", secret)[0] == 401
        assert self.call("GET", "/v1/bookmarks", self.tokens[owner].secret)[0] == 401

    @invariant()
    def the_database_has_as_many_rows_as_the_model(self):
        assert UserGroup.objects.count() == sum(map(len, self.groups))
        assert Bookmark.objects.count() == sum(map(len, self.bookmarks.values()))
        assert Collection.objects.count() == sum(map(len, self.collections.values()))

    def teardown(self):
        transaction.set_rollback(True)
        self.rolled_back.__exit__(None, None, None)


@pytest.mark.django_db
def test_no_sequence_of_calls_reaches_objects_of_another_owner():
    run_state_machine_as_test(
        Isolation,
        settings=settings(
            max_examples=10, stateful_step_count=40, deadline=None, suppress_health_check=list(HealthCheck)
        ),
    )
