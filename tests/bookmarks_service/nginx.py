"""Run nginx with its documented configuration in front of the service."""

import os
import socket
import ssl
from contextlib import contextmanager

import httpx

from tests.documents import ROOT
from tests.programs import find, require
from tests.servers import (
    TIMEOUT,
    free_port,
    listens,
    run_program,
    start_server,
    stop_server,
)

MIB = 1024 * 1024
EXAMPLES = ROOT / "docs/examples"

UNVERIFIED = ssl.create_default_context()
"""Accepts the certificate of the tests. One context serves all clients."""
UNVERIFIED.check_hostname = False
UNVERIFIED.verify_mode = ssl.CERT_NONE

NGINX_CONFIGURATION = """
daemon off;
worker_processes 1;
pid nginx.pid;
error_log error.log;
{user}
events {{ }}
http {{
    client_body_temp_path body;
    proxy_temp_path proxy;
    fastcgi_temp_path fastcgi;
    uwsgi_temp_path uwsgi;
    scgi_temp_path scgi;
    {server}
}}
"""
"""A main configuration that contains the documented one."""


class Nginx:
    """Nginx with the documented configuration, in which addresses are
    replaced.

    ``address`` is that of the service, and ``bulk_address`` that of its second
    instance, which is the same if it is not given.
    """

    included = ("bookmarks_service_http.conf", "bookmarks_service_server.conf")

    def __init__(self, folder, address, bulk_address=None):
        self.folder = folder
        self.port = free_port()
        self.tls_port = free_port()
        self.make_certificate()
        self.write(self.replaced(self.documented(), address, bulk_address or address))

    def documented(self):
        return (EXAMPLES / "bookmarks_service.conf").read_text()

    def make_certificate(self):
        self.key = self.folder / "tls.key"
        self.certificate = self.folder / "tls.pem"
        files = ["-keyout", self.key, "-out", self.certificate]
        kind = ["-x509", "-newkey", "rsa:2048", "-nodes", "-days", "1"]
        names = ["-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost"]
        run_program("openssl", "req", *kind, *names, *files).check_returncode()

    def replaced(self, text, address, bulk_address):
        """Return the configuration with the addresses and files of the test."""
        for old, new in self.replacements(address, bulk_address).items():
            assert text.count(old) == 1, old
            text = text.replace(old, new)
        return text

    def replacements(self, address, bulk_address):
        return {
            "server 127.0.0.1:8000;": f"server {address};",
            "server 127.0.0.1:8001;": f"server {bulk_address};",
            "listen 80;": f"listen 127.0.0.1:{self.port};",
            "listen [::]:80;": f"listen [::1]:{self.port};",
            "listen 443 ssl": f"listen 127.0.0.1:{self.tls_port} ssl",
            "listen [::]:443 ssl": f"listen [::1]:{self.tls_port} ssl",
            "/etc/ssl/bookmarks.example.pem": str(self.certificate),
            "/etc/ssl/bookmarks.example.key": str(self.key),
        }

    def write(self, server):
        user = ""
        if os.getuid() == 0:
            # so that the worker processes may use the folder
            user = "user root;"
        for name in self.included:
            text = (EXAMPLES / name).read_text()
            (self.folder / name).write_text(
                text.replace("/var/log/nginx", str(self.folder))
            )
        path = self.folder / "nginx.conf"
        path.write_text(NGINX_CONFIGURATION.format(user=user, server=server))
        self.command = [
            find("nginx"),
            "-p",
            self.folder,
            "-c",
            path,
            "-e",
            self.folder / "error.log",
        ]

    def is_ready(self):
        return listens(self.port) and listens(self.tls_port)

    def __enter__(self):
        log = self.folder / "nginx.log"
        self.process = start_server(self.command, log, self.is_ready)
        return self

    def __exit__(self, *exc_info):
        stop_server(self.process)

    def logged(self):
        """Return the text of all logs."""
        return "".join(path.read_text() for path in self.folder.glob("*.log"))

    def send(self, request, ends=False):
        """Send bytes without TLS.

        Return the head and the body of the response.

        With ``ends``, the client closes its side after the request.
        """
        with socket.create_connection(
            ("127.0.0.1", self.port), timeout=TIMEOUT
        ) as connection:
            connection.sendall(request)
            if ends:
                connection.shutdown(socket.SHUT_WR)
            return received(connection)

    @contextmanager
    def connect(self):
        """Open a connection with TLS."""
        connection = socket.create_connection(
            ("127.0.0.1", self.tls_port), timeout=TIMEOUT
        )
        with UNVERIFIED.wrap_socket(
            connection, server_hostname="localhost"
        ) as encrypted:
            yield encrypted

    @contextmanager
    def client(self, service, address="127.0.0.1", **headers):
        """Yield a client with this address and the access token of the
        service.
        """
        headers = {
            "Host": "localhost",
            "Authorization": f"Bearer {service.access_token}",
            **headers,
        }
        transport = httpx.HTTPTransport(verify=UNVERIFIED, local_address=address)
        base_url = f"https://localhost:{self.tls_port}"
        with httpx.Client(
            transport=transport, base_url=base_url, headers=headers, timeout=TIMEOUT
        ) as client:
            yield client

    def curl(self, path, version, headers, folder, body=None):
        """Make a call with curl, which speaks HTTP/2, too.

        With a body, it is a POST.

        Return the version of HTTP, the status and the body of the response.
        """
        require("curl")
        headers = {**headers, "Host": "localhost"}
        lines = [f"{name}: {value}\n" for name, value in headers.items()]
        (folder / "headers").write_text("".join(lines))
        options = []
        if body is not None:
            (folder / "sent").write_bytes(body)
            options = ["--data-binary", f"@{folder}/sent"]
            # Send the body when the proxy asks for it. A proxy that refuses a
            # body while curl sends it may reset the connection, and curl would
            # lose the response.
            options += ["--expect100-timeout", str(TIMEOUT)]
        options += ["--header", f"@{folder}/headers", "--output", folder / "received"]
        options += ["--write-out", "%{http_version} %{http_code}"]
        address = f"https://localhost:{self.tls_port}{path}"
        version = f"--http{version}"
        result = run_program(
            "curl", "--silent", "--insecure", version, *options, address
        )
        return (*result.stdout.split(), (folder / "received").read_bytes())


def received(connection):
    """Return the head and the body of a response that ends the connection."""
    answer = b""
    while data := connection.recv(65536):
        answer += data
    head, _, body = answer.partition(b"\r\n\r\n")
    return head.decode(), body
