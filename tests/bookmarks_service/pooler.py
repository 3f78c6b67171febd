"""PgBouncer with the configuration in docs/scaling.md."""

import os
import re
import shutil
import tempfile
from pathlib import Path
from urllib.parse import urlsplit

from tests.bookmarks_service.service import ROOT
from tests.servers import free_port, listens, start_server, stop_server

PGBOUNCER = shutil.which("pgbouncer") or shutil.which("pgbouncer", path="/usr/sbin:/usr/local/sbin")

POOL_SIZE = 4
PASSWORD = "not-a-secret"


def documented(language):
    """Return the block in this language that is in the section on PgBouncer."""
    section = (ROOT / "docs/scaling.md").read_text().partition("## Behind PgBouncer\n")[2].partition("\n## ")[0]
    [block] = re.findall(rf"```{language}\n(.*?)```", section, re.DOTALL)
    return block


class Pooler:
    """PgBouncer in front of any database of a server, with ``url`` in place of ``database_url``.

    The documented addresses, files and size of the pool are replaced.
    """

    def __init__(self, database_url, query_wait_timeout=10):
        database = urlsplit(database_url)
        self.folder, self.port = Path(tempfile.mkdtemp()), free_port()
        self.url = f"postgres://{database.username}:{PASSWORD}@127.0.0.1:{self.port}{database.path}"
        # PgBouncer refuses to run as root.
        self.options = {"cwd": "/", "user": "postgres" if os.getuid() == 0 else None}
        replaced = {
            "bookmarks = host=127.0.0.1 port=5432": f"* = host={database.hostname} port={database.port or 5432}",
            "listen_addr = localhost": "listen_addr = 127.0.0.1",
            "listen_port = 6432": f"listen_port = {self.port}",
            "logfile = /var/log/postgresql": f"logfile = {self.folder}",
            "pidfile = /var/run/postgresql": f"pidfile = {self.folder}",
            "unix_socket_dir = /var/run/postgresql": f"unix_socket_dir = {self.folder}",
            "auth_file = /etc/pgbouncer": f"auth_file = {self.folder}",
            "default_pool_size = 20": f"default_pool_size = {POOL_SIZE}",
            "query_wait_timeout = 10": f"query_wait_timeout = {query_wait_timeout}",
        }
        configuration = documented("ini")
        for old, new in replaced.items():
            assert configuration.count(old) == 1, old
            configuration = configuration.replace(old, new)
        (self.folder / "pgbouncer.ini").write_text(configuration)
        (self.folder / "userlist.txt").write_text(f'"{database.username}" "{PASSWORD}"\n')
        if os.getuid() == 0:
            for path in (self.folder, *self.folder.iterdir()):
                shutil.chown(path, "postgres")

    def __enter__(self):
        try:
            self.start()
        except BaseException:
            shutil.rmtree(self.folder)
            raise
        return self

    def __exit__(self, *exc_info):
        self.stop()
        shutil.rmtree(self.folder)

    def start(self):
        command = [PGBOUNCER, "--quiet", self.folder / "pgbouncer.ini"]
        log = self.folder / "output.log"
        self.process = start_server(command, log, lambda: listens(self.port), **self.options)

    def stop(self):
        """End PgBouncer at once, with all connections."""
        stop_server(self.process)
