"""The methods of the section Python API in docs/plug-in.md refuse what a call
refuses, and store nothing.
"""

from datetime import datetime, timedelta
from types import SimpleNamespace

import pytest
from django.core.exceptions import ValidationError
from django.utils import timezone

from bookmarks.files.records import Record
from bookmarks.import_report import Report
from bookmarks.imports import store
from bookmarks.models import AccessToken, Bookmark, Collection
from tests.answers import errors, statuses
from tests.bookmarks.factories import BookmarkFactory, CollectionFactory
from tests.bookmarks.imports import NEVER
from tests.usergroups.factories import ApiTokenFactory
from usergroups.models import ApiToken, UserGroup

URL = "https://example.com/"
UNSTORABLE = [None, 5, "\0", "\ud800"]
NAIVE = datetime(2026, 1, 1)  # noqa: DTZ001


def nested(levels):
    value = {}
    for _ in range(levels):
        value = {"a": value}
    return value


OBJECTS = ["text", 5, [1], {"a": "\0"}, {"a": "\ud800"}, {1: "a"}, nested(63)]

VALUES = {
    "url": [*UNSTORABLE, "example.com", f"{URL}{'x' * 8000}"],
    "title": [*UNSTORABLE, "x" * 1001],
    "note": [*UNSTORABLE, "x" * 10_001],
    "tags": [*UNSTORABLE, "a", [5], ["\ud800"], [" "], ["x" * 101], [*"x" * 51]],
    "created_at": [None, 5, "2026-01-01", NAIVE, timezone.now() + timedelta(days=9)],
    "collection": [5, "x", CollectionFactory],
    "name": [*UNSTORABLE, "", "x" * 256],
    "token name": [*UNSTORABLE, "x" * 256],
    "provided_id": [*UNSTORABLE, "", "x" * 256],
    "environment": [*UNSTORABLE, "Other"],
    "mapping": [None, *OBJECTS, {"a": None}, {"a": True}, {"a": ""}, {"a": "x" * 256}],
    "properties": [*OBJECTS, {"a": float("nan")}, {"a": 10**400}, {"a": {1}}],
    "read_only": [None, 5, "yes"],
    "expires_at": [5, "tomorrow", NAIVE],
    "grace": [None, 5, -timedelta(1), timedelta(31)],
}
"""Values that are refused, by field."""

SAVED = ["url", "title", "tags", "note"]

METHODS = {
    "Bookmark.add": (
        [*SAVED, "collection", "created_at"],
        lambda has, **new: Bookmark.objects.add(
            user_group=has.group, **{"url": f"{URL}new", **new}
        ),
    ),
    "Bookmark.add_many": (
        [*SAVED, "collection", "created_at"],
        lambda has, **new: Bookmark.objects.add_many(
            has.group, [{"url": f"{URL}1"}, {"url": f"{URL}new", **new}]
        ),
    ),
    "Bookmark.update_by_id": (
        [*SAVED, "collection", "created_at", "user_group_id"],
        lambda has, **new: Bookmark.objects.update_by_id(
            has.group, has.bookmark.pk, **new
        ),
    ),
    "Bookmark.move_by_ids": (
        ["collection"],
        lambda has, collection: Bookmark.objects.move_by_ids(
            has.group, [has.bookmark.pk], collection
        ),
    ),
    "Collection.add": (
        ["name"],
        lambda has, name: Collection.objects.add(has.group, name),
    ),
    "Collection.update_by_id": (
        ["name"],
        lambda has, **new: Collection.objects.update_by_id(
            has.group, has.collection.pk, **new
        ),
    ),
    "UserGroup.get_or_add": (
        ["name", "mapping", "properties"],
        lambda has, **new: UserGroup.objects.get_or_add("new", has.scope, new),
    ),
    "UserGroup.get_or_add with an id": (
        ["provided_id"],
        lambda has, provided_id: UserGroup.objects.get_or_add(
            provided_id, has.scope, {"name": "New"}
        ),
    ),
    "UserGroup.update_by_provided_id": (
        ["name", "mapping", "properties", "token", "team_id"],
        lambda has, **new: UserGroup.objects.update_by_provided_id(
            has.group.provided_id, has.scope, **new
        ),
    ),
    "UserGroup.upsert": (
        ["name", "mapping", "properties", "provided_id"],
        lambda has, **new: UserGroup.objects.upsert(
            [{"provided_id": "new", **new}], has.scope
        ),
    ),
    "UserGroup.rotate_token": (
        ["provided_id"],
        lambda has, provided_id: UserGroup.objects.rotate_token(provided_id, has.scope),
    ),
    "UserGroup.delete_by_provided_id": (
        ["provided_id"],
        lambda has, provided_id: UserGroup.objects.delete_by_provided_id(
            provided_id, has.scope
        ),
    ),
    "ApiToken.issue": (
        ["token name", "read_only", "expires_at", "environment"],
        lambda has, **new: ApiToken.objects.issue(team=has.group.team, **new),
    ),
    "AccessToken.issue_for_each": (
        ["token name", "read_only", "expires_at"],
        lambda has, **new: AccessToken.objects.issue_for_each(
            [has.group], **{**has.scope, **new}
        ),
    ),
    "a token's rotate": (["grace"], lambda has, grace: has.token.rotate(grace)),
    "a queryset's rotate": (
        ["grace"],
        lambda has, grace: ApiToken.objects.filter(pk=has.token.pk).rotate(grace),
    ),
}
"""The fields that each method takes, and a function that calls it."""

CASES = [
    pytest.param(
        call, field.rpartition(" ")[2], VALUES.get(field, [1]), id=f"{name}-{field}"
    )
    for name, (fields, call) in METHODS.items()
    for field in fields
]


@pytest.fixture
def has(user_group):
    """Return the rows that the methods need."""
    return SimpleNamespace(
        group=user_group,
        scope=user_group.scope,
        bookmark=BookmarkFactory(user_group=user_group),
        collection=CollectionFactory(user_group=user_group),
        token=ApiTokenFactory(team=user_group.team),
    )


def rows():
    models = (UserGroup, Bookmark, Collection, ApiToken, AccessToken)
    return [list(model.objects.order_by("pk").values()) for model in models]


@pytest.mark.parametrize(("call", "field", "values"), CASES)
def test_values_that_a_call_refuses_are_refused_and_named(has, call, field, values):
    values = [value() if value is CollectionFactory else value for value in values]
    before = rows()

    for value in values:
        with pytest.raises(ValidationError) as error:
            call(has, **{field: value})

        assert [*error.value.error_dict] == [field], value
    assert rows() == before


@pytest.fixture
def host_validator(monkeypatch):
    """Let a host refuse titles and names with "spam"."""

    def refuse(text):
        if "spam" in text:
            raise ValidationError("No spam.", "spam")

    for model, name in ((Bookmark, "title"), (Collection, "name"), (UserGroup, "name")):
        field = model._meta.get_field(name)
        monkeypatch.setattr(field, "validators", [*field.validators, refuse])


@pytest.mark.usefixtures("host_validator")
def test_a_validator_that_a_host_adds_is_honoured_by_calls(
    call_bookmarks, call_usergroups, user_group
):
    bookmark = BookmarkFactory(user_group=user_group)
    new = {"url": URL, "title": "spam"}
    group = {"user_group_id": user_group.provided_id, "name": "spam"}
    before = rows()
    report = Report()

    store(user_group, [Record(1, URL, "spam")], report, deadline=NEVER)
    refused = [
        call_bookmarks("POST", "bookmarks", body=new),
        call_bookmarks("PATCH", "bookmark", bookmark.pk, body={"title": "spam"}),
        call_usergroups("PUT", "user", group),
        call_usergroups("POST", "users-batch", {"user_groups": [group]}),
    ]

    assert [errors(response)[0][1] for response in refused] == ["spam"] * 4
    assert report.refused == 1
    assert rows() == before

    items = {"bookmarks": [new, {"url": URL}]}
    batch = call_bookmarks("POST", "bookmarks-batch", body=items)

    assert statuses(batch) == [400, 201]
    assert batch.json()["results"][0]["errors"][0]["code"] == "spam"
