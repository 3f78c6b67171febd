"""An identity provider on this machine, which logs in one person without
asking for a password.
"""

import base64
import hashlib
import json
import time
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Event, Thread
from urllib.parse import parse_qs, urlencode, urlsplit
from uuid import uuid4

from joserfc import jws
from joserfc.jwk import ECKey, RSAKey

CLIENT_ID = "bookmarks"
CLIENT_SECRET = "the-secret-of-the-client"

KEYS = {"RS256": RSAKey.generate_key(2048), "ES256": ECKey.generate_key("P-256")}
ANNA = {"sub": "4711", "name": "Anna Schmidt", "email": "anna@example.com"}


class Provider:
    """OpenID Connect as far as a client needs it.

    A test changes its attributes to make it fail.
    """

    def __init__(self, issuer):
        self.issuer = issuer
        # the parameters of the sign-in for which each authorization code was
        # issued
        self.codes = {}
        self.requests = []  # the last part of the path of each request
        self.released = Event()  # is set unless requests hang
        self.reset()

    def reset(self):
        """Let Anna sign in without roles."""
        self.userinfo = dict(ANNA)
        self.roles = []
        self.algorithm = "RS256"
        # the error with which a sign-in is refused
        self.error = None
        # the path to which no request is answered
        self.hanging_path = None
        # values that replace those of the metadata and of the ID token
        self.metadata = {}
        self.id_token = {}
        # a status and a document that replace the response, by path
        self.responses = {}
        self.requests.clear()
        self.released.set()

    def hang(self, path):
        """Respond to no request for this path until ``reset()``."""
        self.hanging_path = path
        self.released.clear()

    def get_configuration(self):
        paths = {
            "authorization_endpoint": "authorize",
            "token_endpoint": "token",
            "userinfo_endpoint": "userinfo",
            "jwks_uri": "keys",
        }
        urls = {name: f"{self.issuer}/{path}" for name, path in paths.items()}
        return {
            "issuer": self.issuer,
            **urls,
            "scopes_supported": ["openid"],
            **self.metadata,
        }

    def authorize(self, query):
        """Return the address to which the browser is redirected."""
        parameters = {"state": query["state"]}
        if self.error:
            parameters["error"] = self.error
        else:
            code = uuid4().hex
            self.codes[code] = query
            parameters["code"] = code
        return f"{query['redirect_uri']}?{urlencode(parameters)}"

    def get_token(self, form, authorization):
        """Check what a provider checks, and return the token response, or None
        to refuse.
        """
        query = self.codes.pop(form["code"], None)
        challenge = base64.urlsafe_b64encode(
            hashlib.sha256(form["code_verifier"].encode()).digest()
        ).rstrip(b"=")
        if (
            query is None
            or query["code_challenge"] != challenge.decode()
            or query["code_challenge_method"] != "S256"
        ):
            return None
        credentials = base64.b64encode(f"{CLIENT_ID}:{CLIENT_SECRET}".encode()).decode()
        if (
            form["redirect_uri"] != query["redirect_uri"]
            or authorization != f"Basic {credentials}"
        ):
            return None
        return {
            "access_token": "an-access-token",
            "token_type": "Bearer",
            "id_token": self.signed_id_token(query["nonce"]),
        }

    def signed_id_token(self, nonce):
        now = int(time.time())
        claims = {
            "iss": self.issuer,
            "sub": self.userinfo["sub"],
            "aud": CLIENT_ID,
            "nonce": nonce,
            "iat": now,
            "exp": now + 60,
            **self.id_token,
        }
        name = "ES256" if self.algorithm == "ES256" else "RS256"
        header = {"alg": self.algorithm, "kid": name}
        return jws.serialize_compact(
            header, json.dumps(claims), KEYS[name], algorithms=[self.algorithm]
        )


class Handler(BaseHTTPRequestHandler):
    def do_GET(self):
        self.respond(urlsplit(self.path).query)

    def do_POST(self):
        self.respond(self.rfile.read(int(self.headers["Content-Length"])).decode())

    def respond(self, text):
        provider = self.server.provider
        path = urlsplit(self.path).path.rpartition("/")[2]
        parameters = {name: value for name, [value] in parse_qs(text).items()}
        provider.requests.append(path)
        if path == provider.hanging_path:
            provider.released.wait()
        if path == "authorize":
            self.answer(302, None, Location=provider.authorize(parameters))
            return
        create_document = {
            "openid-configuration": provider.get_configuration,
            "token": lambda: provider.get_token(
                parameters, self.headers["Authorization"]
            ),
            "userinfo": lambda: {**provider.userinfo, "roles": provider.roles},
            "keys": lambda: {
                "keys": [key.as_dict(kid=name, use="sig") for name, key in KEYS.items()]
            },
        }[path]
        document = create_document()
        status = 400
        if document:
            status = 200
        self.answer(*provider.responses.get(path, (status, document)))

    def answer(self, status, document, **headers):
        body = json.dumps(document).encode()
        self.send_response(status)
        for name, value in {
            "Content-Type": "application/json",
            "Content-Length": str(len(body)),
            **headers,
        }.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args):
        pass


@contextmanager
def identity_provider():
    """Run a provider and yield it."""
    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        server.daemon_threads = True
        server.provider = Provider(
            f"http://127.0.0.1:{server.server_port}/realms/company"
        )
        thread = Thread(target=server.serve_forever, daemon=True)
        thread.start()
        try:
            yield server.provider
        finally:
            server.provider.reset()
            server.shutdown()
