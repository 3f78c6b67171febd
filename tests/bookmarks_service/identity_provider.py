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

import jwt
from cryptography.hazmat.primitives.asymmetric import ec, rsa

CLIENT_ID, CLIENT_SECRET = "bookmarks", "the-secret-of-the-client"

KEYS = {"RS256": rsa.generate_private_key(65537, 2048), "ES256": ec.generate_private_key(ec.SECP256R1())}
STRANGER = rsa.generate_private_key(65537, 2048)
"""A key that the provider does not publish."""

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
        supported = {"token_endpoint_auth_methods_supported": ["client_secret_post"], "scopes_supported": ["openid"]}
        return {"issuer": self.issuer, **urls, **supported, **self.metadata}

    def authorize(self, query):
        """Return where the browser goes next."""
        if self.error:
            return f"{query['redirect_uri']}?{urlencode({'error': self.error, 'state': query['state']})}"
        code = uuid4().hex
        self.codes[code] = query
        return f"{query['redirect_uri']}?{urlencode({'code': code, 'state': query['state']})}"

    def get_token(self, form):
        """Check what a provider checks, and return the token response, or None to refuse."""
        query = self.codes.pop(form["code"], None)
        challenge = base64.urlsafe_b64encode(hashlib.sha256(form["code_verifier"].encode()).digest()).rstrip(b"=")
        if query is None or query["code_challenge"] != challenge.decode() or query["code_challenge_method"] != "S256":
            return None
        if form["redirect_uri"] != query["redirect_uri"] or form["client_secret"] != CLIENT_SECRET:
            return None
        now = int(time.time())
        claims = {"iss": self.issuer, "sub": self.userinfo["sub"], "aud": CLIENT_ID, "nonce": query["nonce"],
                  "iat": now, "exp": now + 60, **self.id_token}  # fmt: skip
        claims = {name: value for name, value in claims.items() if value is not None}
        key = self.key or KEYS.get(self.algorithm)
        id_token = jwt.encode(claims, key, self.algorithm, {"kid": "ES256" if self.algorithm == "ES256" else "RS256"})
        return {"access_token": "an-access-token", "token_type": "Bearer", "id_token": id_token, **self.token_response}

    def get_keys(self):
        public = {
            name: jwt.get_algorithm_by_name(name).to_jwk(key.public_key(), as_dict=True) for name, key in KEYS.items()
        }
        return {"keys": [{**jwk, "kid": name, "alg": name, "use": "sig"} for name, jwk in public.items()]}


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
            "token": lambda: provider.get_token(parameters),
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
