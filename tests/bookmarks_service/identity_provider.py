"""An identity provider on this machine, which logs in one person without asking."""

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
from joserfc.jwk import ECKey, OctKey, RSAKey

CLIENT_ID, CLIENT_SECRET = "bookmarks", "the-secret-of-the-client"

KEYS = {"RS256": RSAKey.generate_key(2048), "ES256": ECKey.generate_key("P-256")}
STRANGER = RSAKey.generate_key(2048)
"""A key that the provider does not publish."""
CLIENT_SECRET_AS_KEY = OctKey.import_key(CLIENT_SECRET)

ANNA = {"sub": "4711", "name": "Anna Schmidt", "email": "anna@example.com"}


class Provider:
    """OpenID Connect as far as a client needs it. A test changes its attributes to make it fail."""

    def __init__(self, issuer):
        self.issuer = issuer
        self.codes, self.requests, self.released = {}, [], Event()
        self.reset()

    def reset(self):
        """Let Anna sign in without roles."""
        self.userinfo, self.roles = dict(ANNA), []
        self.metadata, self.id_token, self.token_response, self.documents = {}, {}, {}, {}
        self.algorithm, self.key, self.error, self.status, self.hangs = "RS256", None, None, {}, None
        self.keys = dict(KEYS)
        self.requests.clear()
        self.released.set()

    def hang(self, path):
        """Respond to no request for this path until ``reset()``."""
        self.hangs = path
        self.released.clear()

    def get_configuration(self):
        paths = {"authorization_endpoint": "authorize", "token_endpoint": "token", "userinfo_endpoint": "userinfo",
                 "jwks_uri": "keys"}  # fmt: skip
        urls = {name: f"{self.issuer}/{path}" for name, path in paths.items()}
        return {"issuer": self.issuer, **urls, "scopes_supported": ["openid"], **self.metadata}

    def authorize(self, query):
        """Return where the browser goes next."""
        if self.error:
            return f"{query['redirect_uri']}?{urlencode({'error': self.error, 'state': query['state']})}"
        code = uuid4().hex
        self.codes[code] = query
        return f"{query['redirect_uri']}?{urlencode({'code': code, 'state': query['state']})}"

    def get_token(self, form, authorization):
        """Check what a provider checks, and return the token response, or None to refuse."""
        query = self.codes.pop(form["code"], None)
        challenge = base64.urlsafe_b64encode(hashlib.sha256(form["code_verifier"].encode()).digest()).rstrip(b"=")
        if query is None or query["code_challenge"] != challenge.decode() or query["code_challenge_method"] != "S256":
            return None
        credentials = base64.b64encode(f"{CLIENT_ID}:{CLIENT_SECRET}".encode()).decode()
        if form["redirect_uri"] != query["redirect_uri"] or authorization != f"Basic {credentials}":
            return None
        now = int(time.time())
        claims = {"iss": self.issuer, "sub": self.userinfo["sub"], "aud": CLIENT_ID, "nonce": query["nonce"],
                  "iat": now, "exp": now + 60, **self.id_token}  # fmt: skip
        claims = {name: value for name, value in claims.items() if value is not None}
        header = {"alg": self.algorithm, "kid": "ES256" if self.algorithm == "ES256" else "RS256"}
        key = self.key or self.keys[header["kid"]]
        id_token = jws.serialize_compact(header, json.dumps(claims), key, algorithms=[self.algorithm])
        return {"access_token": "an-access-token", "token_type": "Bearer", "id_token": id_token, **self.token_response}

    def get_keys(self):
        return {"keys": [key.as_dict(kid=name, alg=name, use="sig") for name, key in self.keys.items()]}


class Handler(BaseHTTPRequestHandler):
    def do_GET(self):
        self.respond(parse_qs_single(urlsplit(self.path).query))

    def do_POST(self):
        self.respond(parse_qs_single(self.rfile.read(int(self.headers["Content-Length"])).decode()))

    def respond(self, parameters):
        provider = self.server.provider
        path = urlsplit(self.path).path.rpartition("/")[2]
        provider.requests.append((path, parameters))
        if path == provider.hangs:
            provider.released.wait()
        if path == "authorize":
            self.answer(302, b"", Location=provider.authorize(parameters))
            return
        found = {
            "openid-configuration": provider.get_configuration,
            "token": lambda: provider.get_token(parameters, self.headers["Authorization"]),
            "userinfo": lambda: {**provider.userinfo, "roles": provider.roles},
            "keys": provider.get_keys,
        }[path]()
        found = provider.documents.get(path, found)
        status = provider.status.get(path, 200 if found else 400)
        self.answer(status, json.dumps(found).encode(), **{"Content-Type": "application/json"})

    def answer(self, status, body, **headers):
        self.send_response(status)
        for name, value in {**headers, "Content-Length": str(len(body))}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args):
        pass


def parse_qs_single(text):
    """Return the parameters of a query or a form, each of which has one value."""
    return {name: value for name, [value] in parse_qs(text).items()}


@contextmanager
def identity_provider():
    """Run a provider and yield it."""
    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        server.daemon_threads = True
        server.provider = Provider(f"http://127.0.0.1:{server.server_port}/realms/company")
        thread = Thread(target=server.serve_forever, daemon=True)
        thread.start()
        try:
            yield server.provider
        finally:
            server.provider.reset()
            server.shutdown()
