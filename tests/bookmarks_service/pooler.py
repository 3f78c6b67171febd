"""PgBouncer with the configuration in docs/examples/pgbouncer.ini."""

import os
import shutil
import tempfile
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from tests.documents import ROOT
from tests.servers import free_port, listens, start_server, stop_server

PGBOUNCER = shutil.which("pgbouncer") or shutil.which("pgbouncer", path="/usr/sbin:/usr/local/sbin")
needs_pgbouncer = pytest.mark.skipif(PGBOUNCER is None, reason="PgBouncer is not installed")

POOL_SIZE = 4
PASSWORD = "not-a-secret"


class Pooler:
    """PgBouncer in front of any database of a server, with ``url`` in place of ``database_url``.

    The documented addresses, files and size of the pool are replaced.
    """

    def __init__(self, database_url):
        database = urlsplit(database_url)
        self.folder, self.port = Path(tempfile.mkdtemp()), free_port()
        self.url = f"postgres://{database.username}:{PASSWORD}@127.0.0.1:{self.port}{database.path}"
        # PgBouncer refuses to run as root.
        self.options = {"cwd": "/", "user": "postgres" if os.getuid() == 0 else None}
        replaced = {
            "bookmarks = host=127.0.0.1 port=5432": f"* = host={database.hostname} port={database.port or 5432}",
            "listen_addr = localhost": "listen_addr = 127.0.0.1",
            "listen_port = 6432": f"listen_port = {self.port}",
            "/var/log/postgresql/": f"{self.folder}/",
            "/var/run/postgresql/": f"{self.folder}/",
            "unix_socket_dir = /var/run/postgresql": f"unix_socket_dir = {self.folder}",
            "/etc/pgbouncer/": f"{self.folder}/",
            "default_pool_size = 20": f"default_pool_size = {POOL_SIZE}",
        }
        configuration = (ROOT / "docs/examples/pgbouncer.ini").read_text()
        for old, new in replaced.items():
            assert configuration.count(old) == 1, old
            configuration = configuration.replace(old, new)
        (self.folder / "pgbouncer.ini").write_text(configuration)
        (self.folder / "userlist.txt").write_text(f'"{database.username}" "{PASSWORD}"\n')
        if os.getuid() == 0:
            for path in (self.folder, *self.folder.iterdir()):
                shutil.chown(path, "postgres")

    def __enter__(self):
        command = [PGBOUNCER, "--quiet", self.folder / "pgbouncer.ini"]
        log = self.folder / "output.log"
        try:
            self.process = start_server(command, log, lambda: listens(self.port), **self.options)
        except BaseException:
            shutil.rmtree(self.folder)
            raise
        return self

    def __exit__(self, *exc_info):
        stop_server(self.process)
        shutil.rmtree(self.folder)
