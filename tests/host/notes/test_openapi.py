"""The OpenAPI document of a host that has an API of its own."""

import json

import pytest
from django.core.management import call_command
from django.urls import include, path
from drf_spectacular.drainage import GENERATOR_STATS
from drf_spectacular.generators import SchemaGenerator
from drf_spectacular.settings import patched_settings

from bookmarks.views import BookmarksView
from tests.calls import operations_of
from tests.host.notes import api_urls, urls
from tests.host.notes.configuration import DuringTheDay
from tests.host.notes.ratings import RatingsView
from tests.host.notes.views import RatedBookmarkSerializer
from tests.operations import OPERATIONS

pytestmark = pytest.mark.urls("tests.host.notes.urls")

WITHOUT_HOOKS = {"PREPROCESSING_HOOKS": [], "POSTPROCESSING_HOOKS": []}
DEFAULT_HOOKS = {
    "PREPROCESSING_HOOKS": [],
    "POSTPROCESSING_HOOKS": ["drf_spectacular.hooks.postprocess_schema_enums"],
}
URLS_OF_THE_HOST = [
    pattern for pattern in urls.urlpatterns if str(pattern.pattern).startswith("own/")
]


with_and_without_hooks = pytest.mark.parametrize(
    "hooks", [WITHOUT_HOOKS, DEFAULT_HOOKS], ids=["no hooks", "defaults"]
)


def document(hooks, patterns=None):
    with patched_settings(hooks):
        return SchemaGenerator(patterns=patterns).get_schema(public=True)


def document_at(client, path):
    """Return a document that the host serves.

    Its settings require a version in the Accept header.
    """
    response = client.get(
        path,
        {"format": "json"},
        headers={"Accept": "application/vnd.oai.openapi+json; version=9"},
    )
    assert response.status_code == 200
    return json.loads(response.content)


@with_and_without_hooks
def test_the_document_of_a_host_has_no_warnings(tmp_path, hooks):
    with patched_settings(hooks):
        file = str(tmp_path / "schema.yml")
        call_command("spectacular", "--validate", "--fail-on-warn", "--file", file)


@with_and_without_hooks
@pytest.mark.parametrize("kind", ["schemas", "securitySchemes"])
def test_the_components_of_a_host_are_the_same_with_and_without_the_apps(hooks, kind):
    alone = document(hooks, URLS_OF_THE_HOST)["components"][kind]
    with_the_apps = document(hooks)["components"][kind]

    assert alone
    assert {name: with_the_apps[name] for name in alone} == alone


class ChangedView(BookmarksView):
    serializer_class = RatedBookmarkSerializer
    permission_classes = [*BookmarksView.permission_classes, DuringTheDay]


def test_a_view_that_the_host_has_changed_is_described_with_the_changes():
    changed = path("links/v1/bookmarks", ChangedView.as_view())
    whole = document(WITHOUT_HOOKS, [changed, *api_urls.urlpatterns])
    schemas = whole["components"]["schemas"]
    operation = whole["paths"]["/links/v1/bookmarks"]["post"]

    created = operation["responses"]["201"]["content"]["application/json"]
    assert created["schema"] == {
        "$ref": "#/components/schemas/NotesRatedBookmarkNewBookmarkEnvelope"
    }
    envelope = schemas["NotesRatedBookmarkNewBookmarkEnvelope"]["properties"]
    assert envelope["bookmark"] == {"$ref": "#/components/schemas/NotesRatedBookmark"}
    assert "is_secure" in schemas["NotesRatedBookmark"]["required"]
    assert schemas["NotesRatedBookmark"]["properties"]["id"]["example"]
    forbidden = operation["responses"]["403"]["$ref"].rpartition("/")[2]
    described = whole["components"]["responses"][forbidden]["description"]
    assert described.endswith("Codes: `at_night`, `insufficient_scope`.")


def test_a_view_that_takes_the_place_of_another_is_described_alone():
    patterns = [
        path("v1/bookmarks", RatingsView.as_view()),
        path("", include("bookmarks.urls")),
    ]
    hook = "usergroups.api.openapi.exclude_replaced_views"
    hooks = {**WITHOUT_HOOKS, "PREPROCESSING_HOOKS": [hook]}
    with GENERATOR_STATS.silence():
        whole = document(hooks, patterns)
        warnings = {*GENERATOR_STATS._warn_cache, *GENERATOR_STATS._error_cache}

    assert not warnings
    operations = whole["paths"]["/v1/bookmarks"]
    assert operations.keys() == {"post"}
    created = operations["post"]
    assert created["operationId"] == "create_bookmark"
    assert created["summary"] == "Create a bookmark"
    assert created["security"] == [{"NotesLinks": []}]
    schemes = whole["components"]["securitySchemes"]
    assert schemes.keys() == {"NotesLinks", "BookmarksAccessToken"}
    assert "Links" in schemes["NotesLinks"]["description"]
    body = created["requestBody"]["content"]["application/json"]
    name = body["schema"]["$ref"].rpartition("/")[2]
    fields = whole["components"]["schemas"][name]["properties"]
    assert {"stars", "url", "tags"} <= fields.keys()


@pytest.mark.django_db
def test_the_document_of_the_host_has_only_its_own_paths(client):
    own = document_at(client, "/schema/")

    paths = {"/own/user-groups/", "/own/problems/", "/schema/", "/links/schema/"}
    assert own["paths"].keys() == paths
    problem = own["components"]["schemas"]["Problem"]
    assert problem["properties"].keys() == {"isOfTheHost", "code", "success"}


@pytest.mark.django_db
def test_the_document_of_the_apps_is_not_changed_by_the_hooks_of_the_host(client):
    of_the_apps = document_at(client, "/links/schema/")

    expected = document(WITHOUT_HOOKS, api_urls.urlpatterns)
    assert of_the_apps["paths"] == expected["paths"]
    assert of_the_apps["components"] == expected["components"]
    schemas = of_the_apps["components"]["schemas"]
    # The hook of the host would make it "providedId".
    assert "provided_id" in schemas["UsergroupsUserGroup"]["properties"]
    assert {path.split("/")[1] for path in of_the_apps["paths"]} == {"groups", "links"}
    assert operations_of(of_the_apps).keys() == OPERATIONS.keys()
