"""Failover: the primary server dies, its standby is promoted, and the service uses it without a restart."""

import re
import shutil

import pytest

from tests.bookmarks_service.service import ROOT, Service
from tests.bookmarks_service.test_nothing_is_lost import Load, stored
from tests.servers import wait_until

pytest.importorskip("psycopg")
from tests.bookmarks_service.cluster import Cluster, binaries

pytestmark = [
    pytest.mark.once,
    pytest.mark.skipif(binaries() is None, reason="there is no PostgreSQL server to be started"),
]

READS = ["/v1/bookmarks", "/v1/collections", "/api/users", "/readyz"]


class Primary(Cluster):
    """A server whose commits wait for its standby."""

    settings = ["synchronous_standby_names=*"]

    def return_as_standby(self):
        """Start the server again. It can be read, but follows no other server."""
        (self.folder / "data" / "standby.signal").touch()
        self.start()


class Standby(Cluster):
    """A streaming standby."""

    def __init__(self, primary):
        super().__init__()
        self.primary = primary

    def creation(self):
        program = shutil.which("pg_basebackup") or binaries() / "pg_basebackup"  # Debian has it in another folder
        command = [program, "-h", "127.0.0.1", "-p", str(self.primary.port), "-U", "postgres"]
        return [*command, "-D", self.folder / "data", "--write-recovery-conf", "--checkpoint=fast", "--no-sync"]


@pytest.fixture
def primary():
    with Primary() as running:
        yield running


@pytest.fixture
def standby(primary):
    with Standby(primary) as running:
        with primary.connect() as connection:
            sql = "SELECT count(*) FROM pg_stat_replication WHERE sync_state = 'sync'"
            wait_until(lambda: connection.execute(sql).fetchone()[0])
        yield running


def documented_url(*servers):
    """Return the documented DATABASE_URL with the addresses of these servers."""
    [url] = re.findall(r"export DATABASE_URL='(.*)'", (ROOT / "docs/scaling.md").read_text())
    ports = ",".join(str(server.port) for server in servers)
    actual = {
        "bookmarks:password@": "postgres@", "db1,db2": "127.0.0.1,127.0.0.1",
        "/bookmarks?": f"/postgres?port={ports}&",
    }  # fmt: skip
    for old, new in actual.items():
        assert url.count(old) == 1, old
        url = url.replace(old, new)
    return url


def call(service, path):
    token = f"Token {service.api_token}" if path.startswith("/api/") else f"Bearer {service.access_token}"
    return service.request("GET", path, headers={"Authorization": token})


def test_a_failover_needs_no_restart_and_loses_no_acknowledged_write(primary, standby, tmp_path):
    with Service(tmp_path, documented_url(primary, standby)) as service:
        with Load(service) as load:
            load.wait_for(100)
            primary.stop()
            wait_until(lambda: load.refused)
            calls = [*(call(service, path) for path in READS), service.update_user_group(name="New")]
            standby.execute("SELECT pg_promote()")
            load.wait_for(100)

            primary.return_as_standby()
            standby.disconnect_all()
            load.wait_for(100)
            load.stop()

        assert load.broken == []
        assert load.acknowledged <= stored(service)
        assert service.manage("check", "--database", "default").returncode == 0

    assert [response.status_code for response in calls] == [503] * 5
    assert {response.json()["errors"][0]["code"] for response in calls} == {"service_unavailable"}
    log = service.log.read_text()
    assert set(re.findall(r'"status": (\d+)', log)) == {"200", "201", "503"}
    assert "pooler" not in log
