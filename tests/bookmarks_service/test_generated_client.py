"""A client that is generated from the OpenAPI document can make every call."""

import importlib
import subprocess
import sys
from pathlib import Path

import pytest

from tests.contract.conftest import OPERATIONS


@pytest.fixture(scope="module")
def generated(tmp_path_factory, service):
    """Generate the client and import it."""
    folder = tmp_path_factory.mktemp("generated")
    document, config = folder / "schema.yml", folder / "config.yml"
    config.write_text("post_hooks: []\npackage_name_override: generated\n")  # formatting it would take other tools
    assert service.manage("spectacular", "--file", str(document)).returncode == 0
    subprocess.run(
        [Path(sys.executable).with_name("openapi-python-client"), "generate", "--fail-on-warning",
         "--path", document, "--config", config, "--output-path", folder / "out"],
        check=True, capture_output=True,
    )  # fmt: skip
    sys.path.insert(0, str(folder / "out"))
    try:
        yield importlib.import_module("generated")
    finally:
        sys.path.remove(str(folder / "out"))


@pytest.fixture
def call(generated, service):
    """Return a function that makes a call, and keeps the names of the calls in ``made``."""
    modules = {
        path.stem: path for path in Path(generated.__file__).parent.glob("api/*/*.py") if path.stem != "__init__"
    }
    token_of = {"Token": service.api_token, "Bearer": service.access_token}

    def make(name, /, **arguments):
        make.made.add(name)
        tag = modules[name].parent.name
        scheme = "Token" if tag == "user_groups" else "Bearer"
        module = importlib.import_module(f"generated.api.{tag}.{name}")
        with generated.AuthenticatedClient(service.base_url, token_of[scheme], prefix=scheme) as client:
            response = module.sync_detailed(client=client, **arguments)
        return response.status_code, response.parsed

    make.made = set()
    assert modules.keys() == OPERATIONS.keys()
    return make


def test_the_generated_client_makes_every_call(call, generated):
    models = importlib.import_module("generated.models")
    group_id = "generated"

    status, made = call("create_user_group", body=models.UserGroupUpdate(user_group_id=group_id, name="A"))
    assert (status, made.new_user_group, made.user_group.name) == (201, True, "A")
    properties = models.UserGroupUpdatePropertiesType0.from_dict({"plan": ["pro", 1]})
    mapping = models.UserGroupUpdateMappingType0.from_dict({"40": "eu", "41": 113})
    body = models.UserGroupUpdate(user_group_id=group_id, properties=properties, mapping=mapping)
    status, updated = call("update_user_group", body=body)
    assert (status, updated.user_group.properties.to_dict()) == (200, {"plan": ["pro", 1]})
    status, read = call("get_user_group", user_group_id=group_id)
    assert (status, read.user_group.token) == (200, made.user_group.token)
    status, rotated = call("rotate_user_group_token", body=models.UserGroupId(user_group_id=group_id))
    assert status == 200
    assert rotated.user_group.token != made.user_group.token
    items = [models.UserGroupUpdate(user_group_id=group_id), models.UserGroupUpdate(user_group_id="")]
    status, batch = call("put_user_groups", body=models.UserGroupBatch(user_groups=items))
    assert [type(result).__name__ for result in batch.results] == ["UserGroupResult", "FailedResult"]
    status, page = call("list_user_groups", limit=1, name="A")
    assert (status, [group.provided_id for group in page.user_groups]) == (200, [group_id])
    status, gone = call("delete_user_group", user_group_id=group_id)
    assert (status, gone.success) == (200, 1)
    status, failure = call("get_user_group", user_group_id=group_id)
    assert (status, failure.errors[0].code) == (404, "user_group_not_found")

    status, collection = call("create_collection", body=models.CollectionWrite(name="Generated"))
    assert status == 201
    key = collection.collection.id
    status, renamed = call("update_collection", public_id=key, body=models.PatchedCollectionWrite(name="Renamed"))
    assert (status, renamed.collection.name) == (200, "Renamed")
    assert call("get_collection", public_id=key)[1].collection.name == "Renamed"
    assert key in [found.id for found in call("list_collections")[1].collections]

    url = "https://example.com/generated"
    status, bookmark = call("create_bookmark", body=models.BookmarkCreate(url=url, title="A", collection=key))
    assert (status, bookmark.bookmark.collection) == (201, key)
    status, again = call("create_bookmark", body=models.BookmarkCreate(url=url, collection=key))
    assert (status, again.bookmark.id) == (200, bookmark.bookmark.id)
    moved = call("update_bookmark", public_id=again.bookmark.id, body=models.PatchedBookmarkUpdate(collection=None))
    assert (moved[0], moved[1].bookmark.collection, moved[1].bookmark.title) == (200, None, "A")
    items = [models.BookmarkCreate(url=url), models.BookmarkCreate(url="x")]
    status, batch = call("create_bookmarks", body=models.BookmarkBatch(bookmarks=items))
    assert [result.status for result in batch.results] == [200, 400]
    since = bookmark.bookmark.created_at
    status, page = call("list_bookmarks", url_query=url, q="GENERATED", created_since=since, collection="", limit=1)
    assert (status, [found.id for found in page.bookmarks]) == (200, [bookmark.bookmark.id])
    assert call("get_bookmark", public_id=bookmark.bookmark.id)[1].bookmark == moved[1].bookmark
    assert call("delete_bookmark", public_id=bookmark.bookmark.id)[0] == 200
    assert call("delete_collection", public_id=key)[0] == 200

    assert call.made == OPERATIONS.keys()
