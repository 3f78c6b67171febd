"""An identity provider on this machine, which logs in one person without
asking for a password.
"""

import base64
import json
import time
from contextlib import contextmanager
from hashlib import sha256
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Event, Thread
from urllib.parse import parse_qs, urlencode, urlsplit

from joserfc import jws
from joserfc.jwk import ECKey, RSAKey

CLIENT_ID = "bookmarks"
CLIENT_SECRET = "the-secret-of-the-client"
CODE = "an-authorization-code"

KEYS = {"RS256": RSAKey.generate_key(2048), "ES256": ECKey.generate_key("P-256")}

ANNA = {"sub": "4711", "name": "Anna Schmidt", "email": "anna@example.com"}


class Provider:
    """OpenID Connect as far as a client needs it.

    A test changes its attributes to make it fail.
    """

    def __init__(self, issuer):
        self.issuer = issuer
        self.requests = []  # the last part of the path of each request
        self.released = Event()  # is set unless requests hang
        self.reset()

    def reset(self):
        """Let Anna sign in as an operator."""
        self.userinfo = {**ANNA, "roles": ["Operators"]}
        self.algorithm = "RS256"
        # values that replace those of the metadata and of the ID token
        self.metadata = {}
        self.id_token = {}
        # a status and a document that replace the response, by path
        self.responses = {}
        self.requests.clear()
        self.released.set()

    def get_configuration(self):
        paths = {
            "authorization_endpoint": "authorize",
            "token_endpoint": "token",
            "userinfo_endpoint": "userinfo",
            "jwks_uri": "keys",
        }
        urls = {name: f"{self.issuer}/{path}" for name, path in paths.items()}
        return {"issuer": self.issuer, **urls, **self.metadata}

    def authorize(self, query):
        """Return the address to which the browser is redirected."""
        self.nonce = query["nonce"]
        self.challenge = query["code_challenge"]
        parameters = {"state": query["state"], "code": CODE}
        return f"{query['redirect_uri']}?{urlencode(parameters)}"

    def get_token(self, form):
        """Return the token response, or None if PKCE fails."""
        digest = sha256(form["code_verifier"].encode()).digest()
        if self.challenge != base64.urlsafe_b64encode(digest).decode().rstrip("="):
            return None
        now = int(time.time())
        claims = {
            "iss": self.issuer,
            "sub": self.userinfo["sub"],
            "aud": CLIENT_ID,
            "nonce": self.nonce,
            "iat": now,
            "exp": now + 60,
            **self.id_token,
        }
        name = "ES256" if self.algorithm == "ES256" else "RS256"
        header = {"alg": self.algorithm, "kid": name}
        id_token = jws.serialize_compact(
            header, json.dumps(claims), KEYS[name], algorithms=[self.algorithm]
        )
        token = {"access_token": "an-access-token", "token_type": "Bearer"}
        return {**token, "id_token": id_token}

    def get_keys(self):
        keys = [key.as_dict(kid=name, use="sig") for name, key in KEYS.items()]
        return {"keys": keys}


class Handler(BaseHTTPRequestHandler):
    def do_GET(self):
        self.respond(urlsplit(self.path).query)

    def do_POST(self):
        self.respond(self.rfile.read(int(self.headers["Content-Length"])).decode())

    def respond(self, text):
        provider = self.server.provider
        parameters = {name: value for name, [value] in parse_qs(text).items()}
        path = urlsplit(self.path).path.rpartition("/")[2]
        provider.requests.append(path)
        provider.released.wait()
        if path == "authorize":
            self.answer(302, None, Location=provider.authorize(parameters))
            return
        create_document = {
            "openid-configuration": provider.get_configuration,
            "token": lambda: provider.get_token(parameters),
            "userinfo": lambda: provider.userinfo,
            "keys": provider.get_keys,
        }[path]
        document = create_document()
        status = 200 if document else 400
        self.answer(*provider.responses.get(path, (status, document)))

    def answer(self, status, document, **headers):
        body = json.dumps(document).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        for name, value in headers.items():
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
        issuer = f"http://127.0.0.1:{server.server_port}/realms/company"
        server.provider = Provider(issuer)
        Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield server.provider
        finally:
            server.provider.reset()
            server.shutdown()
