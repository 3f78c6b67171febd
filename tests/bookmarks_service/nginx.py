"""nginx with the configuration in docs/examples/bookmarks_service.conf."""

import os
import shutil
import socket
import ssl
import subprocess
from contextlib import contextmanager

import httpx
import pytest

from tests.documents import ROOT
from tests.servers import TIMEOUT, free_port, listens, start_server, stop_server

NGINX = shutil.which("nginx") or shutil.which("nginx", path="/usr/sbin:/usr/local/sbin")

MAIN = """
daemon off;
worker_processes 1;
pid nginx.pid;
error_log error.log;
{user}
events {{ }}
http {{
    access_log off;
    client_body_temp_path body;
    proxy_temp_path proxy;
    fastcgi_temp_path fastcgi;
    uwsgi_temp_path uwsgi;
    scgi_temp_path scgi;
    {server}
}}
"""


def certificate(folder):
    if not shutil.which("openssl"):
        pytest.skip("There is no openssl command to make a certificate.")
    files = ["-keyout", folder / "tls.key", "-out", folder / "tls.pem"]
    command = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "1", "-subj", "/CN=localhost"]
    subprocess.run([*command, *files], check=True, capture_output=True)


class Nginx:
    """nginx with the documented configuration, whose ports, host and files are replaced."""

    def __init__(self, folder, port_of_the_service):
        self.folder, self.port, self.tls_port = folder, free_port(), free_port()
        certificate(folder)
        replaced = {
            "127.0.0.1:8000": f"127.0.0.1:{port_of_the_service}",
            "listen 80;": f"listen 127.0.0.1:{self.port};",
            "listen 443 ssl": f"listen 127.0.0.1:{self.tls_port} ssl",
            "/etc/ssl/bookmarks.example.pem": str(folder / "tls.pem"),
            "/etc/ssl/bookmarks.example.key": str(folder / "tls.key"),
        }
        server = (ROOT / "docs/examples/bookmarks_service.conf").read_text()
        for old, new in replaced.items():
            assert server.count(old) == 1, old
            server = server.replace(old, new)
        user = "user root;" if os.getuid() == 0 else ""  # so that its processes may use the folder
        (folder / "nginx.conf").write_text(MAIN.format(user=user, server=server))
        self.command = [NGINX, "-p", folder, "-c", folder / "nginx.conf", "-e", folder / "error.log"]

    def __enter__(self):
        log = self.folder / "nginx.log"
        self.process = start_server(self.command, log, lambda: listens(self.port) and listens(self.tls_port))
        return self

    def __exit__(self, *exc_info):
        stop_server(self.process)

    def send(self, request):
        """Send bytes as they are, with TLS. Return head and body of the answer."""
        context = ssl.create_default_context(cafile=self.folder / "tls.pem")
        answer = b""
        with (
            socket.create_connection(("127.0.0.1", self.tls_port), timeout=TIMEOUT) as connection,
            context.wrap_socket(connection, server_hostname="localhost") as tls,
        ):
            tls.sendall(request)
            while received := tls.recv(65536):
                answer += received
        head, _, body = answer.partition(b"\r\n\r\n")
        return head.decode(), body

    @contextmanager
    def client(self, service, address="127.0.0.1", **headers):
        """Yield a client with this address and the access token of the service."""
        headers = {"Host": "localhost", "Authorization": f"Bearer {service.access_token}", **headers}
        base_url = f"https://127.0.0.1:{self.tls_port}"
        transport = httpx.HTTPTransport(verify=False, local_address=address)
        with httpx.Client(transport=transport, base_url=base_url, headers=headers, timeout=TIMEOUT) as client:
            yield client
