"""Migrate the database of a host and create the same rows as in every other,
with secrets from standard input.
"""

import json
import sys
from datetime import UTC, datetime, timedelta
from uuid import UUID

import django

START = datetime(2026, 1, 2, 3, 4, 5, 678901, tzinfo=UTC)

COLLECTIONS = [UUID(int=number) for number in (1, 2)]
BOOKMARKS = [UUID(int=number) for number in (11, 12, 13)]


def dates(hours):
    """Return the dates of a row that was created this many hours after START,
    so that rows have a known order.
    """
    return {
        "created_at": START + timedelta(hours=hours),
        "updated_at": START + timedelta(hours=hours),
    }


def issue(model, secret, **fields):
    from usergroups.tokens import secret_format  # noqa: PLC0415

    model.objects.create(
        digest=secret_format.digest(secret),
        hint=secret_format.hint(secret),
        created_at=START,
        **fields,
    )


def fill(secrets):
    """Create a team with two user groups, and tokens of both kinds in each
    state. The first group has all bookmarks.
    """
    from bookmarks.models import AccessToken, Bookmark, Collection  # noqa: PLC0415
    from usergroups.models import ApiToken, Team, UserGroup  # noqa: PLC0415

    states = {
        "valid": {},
        "read-only": {"read_only": True},
        "expired": {"expires_at": START + timedelta(hours=1)},
        "revoked": {"revoked_at": START},
    }
    team = Team.objects.create(id=1, name="Team")

    def create_group(number):
        return UserGroup.objects.create(
            id=number,
            team=team,
            provided_id=f"group {number}",
            name="Gruppe ٢٬٣٤٥ 1.234,5",
            mapping={"40": 1234567},
            properties={"plan": "pro", "someKey": 1234.5, "other_key": None},
            token=secrets[f"user group {number}"],
            **dates(number),
        )

    group = create_group(1)
    create_group(2)
    for state, fields in states.items():
        issue(ApiToken, secrets[f"Token {state}"], team=team, **fields)
        issue(AccessToken, secrets[f"Bearer {state}"], user_group=group, **fields)
    for key in COLLECTIONS:
        Collection.objects.create(
            id=key, user_group=group, name=f"Sammlung {key.int}", **dates(key.int)
        )
    for key in BOOKMARKS:
        url = f"https://example.com/{key.int}?a_b=1.000"
        Bookmark.objects.create(
            id=key,
            user_group=group,
            collection_id=COLLECTIONS[0],
            url=url,
            title="لغة",
            **dates(key.int),
        )


if __name__ == "__main__":
    django.setup()
    from django.core.management import call_command

    # The app ``notes`` has no migrations.
    call_command("migrate", run_syncdb=True, verbosity=0)
    fill(json.load(sys.stdin))
