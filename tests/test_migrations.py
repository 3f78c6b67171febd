"""Landed migrations are never changed, and all migrations can be reversed and
applied again, on a database of the kind that the tests run on.
"""

import hashlib
import json
import re
from contextlib import closing
from datetime import UTC, datetime

import pytest
from django.contrib.admin.models import ADDITION, CHANGE, DELETION, LogEntry
from django.contrib.auth.models import User
from django.contrib.contenttypes.models import ContentType
from django.db import IntegrityError, connection, connections
from django.db.migrations.executor import MigrationExecutor

from bookmarks.models import Bookmark, Collection
from tests.bookmarks_service.service import empty_database
from tests.documents import ROOT
from usergroups.events import Event, first_key
from usergroups.models import Team, UserGroup

LANDED = ROOT / "tests/landed_migrations.txt"
"""The digests of the migrations, whose first line says what it is for."""


def migrate(database, *targets):
    """Migrate to these targets, or to the newest migrations."""
    executor = MigrationExecutor(database)
    executor.migrate(list(targets) or executor.loader.graph.leaf_nodes())


def schema(database):
    """Return the columns, constraints and indexes of each table of the apps."""
    found = {}
    with database.cursor() as cursor:
        for table in database.introspection.table_names(cursor):
            if table.startswith(("bookmarks_", "usergroups_")):
                columns = database.introspection.get_table_description(cursor, table)
                constraints = database.introspection.get_constraints(cursor, table)
                found[table] = (
                    sorted(map(str, columns)),
                    sorted(map(str, constraints.items())),
                )
    return found


@pytest.fixture
def database(tmp_path, monkeypatch, django_db_blocker):
    """A connection to an empty database, without tables."""
    with django_db_blocker.unblock(), empty_database(tmp_path) as url:
        name = url.removeprefix("sqlite:///")
        if connection.vendor == "postgresql":
            name = url.rpartition("/")[2]
        monkeypatch.setitem(
            connections.settings,
            "migrated",
            {**connection.settings_dict, "NAME": name},
        )
        with closing(connections["migrated"]) as database:
            yield database
        del connections["migrated"]


def test_all_migrations_are_reversed_and_applied_again(database):
    migrate(database)
    before = schema(database)
    # teams, user groups, collections, bookmarks, events, two kinds of
    # tokens and two of records of deletions
    assert len(before) == 9

    migrate(database, ("bookmarks", None), ("usergroups", None))
    assert schema(database) == {}

    migrate(database)
    assert schema(database) == before


@pytest.mark.skipif(
    connection.vendor != "postgresql", reason="SQLite has no such foreign key"
)
def test_the_migration_explains_how_to_mend_collections_of_other_groups(database):
    migrate(database, ("bookmarks", "0002_collection_owner_index"))
    rows = {"using": database.alias}
    team = Team.objects.using(database.alias).create(name="a")
    groups = UserGroup.objects.using(database.alias)
    owner = groups.create(team=team, provided_id="a", name="a")
    other = groups.create(team=team, provided_id="b", name="b")
    collections = Collection.objects.using(database.alias)
    of_other = collections.create(user_group=other, name="c")
    bookmark = Bookmark(
        user_group=owner, url="https://example.com/", collection=of_other
    )
    bookmark.save(**rows)

    with pytest.raises(IntegrityError) as raised:
        migrate(database)
    [statement] = re.findall(
        r"^UPDATE .*?;", str(raised.value), re.DOTALL | re.MULTILINE
    )
    with database.cursor() as cursor:
        cursor.execute(statement)
    migrate(database)

    bookmark.refresh_from_db(**rows)
    assert bookmark.collection is None


@pytest.fixture
def before_events(database):
    """The models as they were when Django's history had the changes, on the
    database, and a function that writes an entry of that history.
    """
    migrate(database)
    migrate(database, ("usergroups", "0004_token_successors"))
    executor = MigrationExecutor(database)
    applied = list(executor.loader.applied_migrations)
    apps = executor.loader.project_state(applied).apps
    manager = User.objects.db_manager(database.alias)
    operator = manager.create(username="anna")
    long_ago = datetime(2026, 1, 2, 3, 4, tzinfo=UTC)

    def write(model, key, message, flag=CHANGE, name=""):
        types = ContentType.objects.db_manager(database.alias)
        if not isinstance(message, str):
            message = json.dumps(message)
        return LogEntry.objects.using(database.alias).create(
            user=operator,
            action_time=long_ago,
            content_type=types.get_or_create(app_label=model[0], model=model[1])[0],
            object_id=key,
            object_repr=name,
            action_flag=flag,
            change_message=message,
        )

    def create(app_label, model_name, /, **fields):
        model = apps.get_model(app_label, model_name)
        return model._base_manager.using(database.alias).create(**fields)

    return create, write


GROUP = ("usergroups", "usergroup")
TOKEN = ("bookmarks", "accesstoken")


def test_entries_of_djangos_history_become_events(database, before_events):
    create, write = before_events
    team = create("usergroups", "Team", name="Acme")
    first, second = (
        create("usergroups", "UserGroup", team=team, provided_id=name, name=name)
        for name in "ab"
    )
    tokens = [
        create(
            "bookmarks",
            "AccessToken",
            user_group=group,
            team=team,
            digest=bytes([n]),
            hint="h",
        )
        for n, group in enumerate([first, first, second])
    ]

    def event(entry, group, label, number):
        create(
            "usergroups",
            "Event",
            user_group=group,
            kind="changed",
            actor="anna",
            model=label,
            counts={label: number},
            entry=entry.pk,
        )

    changed = {"fields": ["Name"], "values": {"name": ["a", "b"], "note": [None, None]}}
    change = write(GROUP, first.pk, [{"changed": changed}], name="b (Acme, a)")
    event(change, first, "usergroups.usergroup", 1)
    rows = {"text": "Revoked.", "number": 3, "counts": {}, "filters": ""}
    rows["keys"] = [str(token.pk) for token in tokens]
    revocation = write(TOKEN, None, [{"rows": rows}])
    event(revocation, first, "bookmarks.accesstoken", 2)
    event(revocation, second, "bookmarks.accesstoken", 1)
    write(("usergroups", "team"), team.pk, [{"added": {}}], ADDITION, "Acme")
    write(TOKEN, tokens[0].pk, "Rotated. Successor: h…", name="h…")
    # a row of an owner that may have been deleted, and a deletion with an event
    write(TOKEN, "99", [{"changed": {"fields": ["Name"]}}], name="Secret")
    write(GROUP, "99", "", DELETION)
    write(("auth", "user"), "1", [{"changed": {"fields": ["Password"]}}], name="anna")
    write(("gone", "model"), "1", "", name="x")
    create(
        "usergroups",
        "Event",
        kind="deleted",
        model="usergroups.usergroup",
        text="99",
        counts={"usergroups.UserGroup": 1},
    )

    migrate(database)

    events = Event.objects.using(database.alias).order_by("pk")
    keys = [f"\n{token.pk}\n" for token in tokens]
    whole = events.get(whole="", kind="revoked").pk
    found = events.values_list(
        "kind", "user_group", "team", "keys", "text", "changes", "whole"
    )
    assert set(map(str, found)) == {
        str(each)
        for each in [
            (
                "changed",
                first.pk,
                None,
                f"\n{first.pk}\n",
                "b (Acme, a)",
                {"name": ["a", "b"], "note": None},
                "",
            ),
            ("revoked", None, None, "", "", None, ""),
            ("revoked", first.pk, None, keys[0][:-1] + keys[1], "", None, str(whole)),
            ("revoked", second.pk, None, keys[2], "", None, str(whole)),
            ("added", None, team.pk, f"\n{team.pk}\n", "Acme", None, ""),
            ("rotated", first.pk, None, keys[0], "h…", None, ""),
            ("changed", None, None, "\n99\n", "", None, ""),
            ("changed", None, None, "\n1\n", "anna", {"Password": None}, ""),
            ("deleted", None, None, "\n99\n", "", None, ""),
        ]
    }
    assert events.get(pk=whole).counts == {"bookmarks.accesstoken": 3}
    new = events.get(kind="added")
    assert (new.actor, new.at.year, new.pk < first_key(new.at)) == ("anna", 2026, False)
    assert change.change_message in str(LogEntry.objects.using(database.alias).values())

    number = events.count()
    migrate(database, ("usergroups", "0005_one_history"))
    migrate(database)
    assert events.count() == number


@pytest.mark.database_independent
def test_landed_migrations_are_not_changed():
    digests = {
        str(path.relative_to(ROOT)): hashlib.sha256(path.read_bytes()).hexdigest()
        for app in ("bookmarks", "usergroups")
        for path in (ROOT / app / "migrations").glob("[0-9]*.py")
    }
    _, *lines = LANDED.read_text().splitlines()
    landed = dict(reversed(line.split()) for line in lines)

    new = digests.keys() - landed.keys()
    assert not new, f"Add to {LANDED.name}: " + ", ".join(
        f"{digests[path]}  {path}" for path in new
    )
    assert digests == landed, "A landed migration differs. Write a new one instead."
