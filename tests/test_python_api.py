"""The example of the section Python API in docs/plug-in.md.

tests/test_docs.py compares it with the document.
"""

from datetime import timedelta

import pytest

from bookmarks.models import AccessToken, Bookmark, Collection
from usergroups.models import ApiToken, Team, UserGroup


@pytest.mark.django_db
@pytest.mark.database_independent
def test_the_example_does_what_its_names_say():
    team = Team.objects.create(name="Acme")
    api_token, secret = ApiToken.objects.issue(
        team=team, environment="Customer", name="CI"
    )
    successor, new_secret = api_token.rotate(grace=timedelta(days=1))
    successor.revoke()

    user_group, created = UserGroup.objects.get_or_add(
        "acme", api_token.scope, {"name": "Acme"}
    )
    user_group = UserGroup.objects.update_by_provided_id(
        "acme", api_token.scope, properties={"plan": "pro"}
    )

    access_token, secret = AccessToken.objects.issue(
        user_group=user_group, read_only=True
    )
    collection = Collection.objects.add(user_group, "Reading list")
    bookmark, created = Bookmark.objects.add(
        user_group=user_group, url="https://example.com/", collection=collection
    )
    bookmark = Bookmark.objects.update_by_id(
        user_group, str(bookmark.pk), title="Example"
    )

    assert user_group.properties == {"plan": "pro"}
    assert created
    assert bookmark.title == "Example"
    assert bookmark.collection == collection
    assert successor.revoked_at is not None
    assert new_secret.startswith("uga_")
    assert access_token.read_only
    assert secret.startswith("bma_")
