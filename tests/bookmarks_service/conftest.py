import pytest

from tests.bookmarks.conftest import create_bookmark  # noqa: F401
from tests.bookmarks_service.service import Service, empty_database


@pytest.fixture(scope="session")
def service(tmp_path_factory):
    folder = tmp_path_factory.mktemp("service")
    with empty_database(folder) as database_url, Service(folder, database_url) as running:
        yield running
