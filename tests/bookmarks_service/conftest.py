import pytest

from tests.api.conftest import any_operation, valid_body  # noqa: F401
from tests.bookmarks_service.postgresql import Cluster
from tests.bookmarks_service.service import Service, empty_database
from tests.programs import require


@pytest.fixture(scope="session")
def service(tmp_path_factory):
    """Yield the running service.

    Modules share it unless they have a service of their own.
    """
    folder = tmp_path_factory.mktemp("service")
    # test_http.py uploads a larger file, and checks that nothing of it is left
    # in TMPDIR.
    variables = {"BOOKMARKS_MAX_IMPORT_SIZE": "5000000", "TMPDIR": str(folder)}
    with (
        empty_database(folder) as database_url,
        Service(folder, database_url, **variables) as running,
    ):
        yield running


@pytest.fixture(scope="session")
def cluster():
    """Yield a PostgreSQL server that a test can stop and configure."""
    require("postgres")
    with Cluster() as running:
        yield running


@pytest.fixture(scope="session")
def document_file(tmp_path_factory, service):
    """Return the file of the OpenAPI document, as the service serves it."""
    path = tmp_path_factory.mktemp("document") / "schema.json"
    path.write_bytes(service.request("GET", "/schema/").content)
    return path
