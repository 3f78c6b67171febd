"""Calls to which every host gives the same responses if it receives them in
this order.

They cover each operation, and each status except 429 and server errors.
"""

from typing import NamedTuple

from .seed import BOOKMARKS, COLLECTIONS

MIB = 1024 * 1024

JSON = {"Content-Type": "application/json"}
FORM = {"Content-Type": "application/x-www-form-urlencoded"}
GERMAN = {"Accept-Language": "de-DE,de;q=0.9"}
ARABIC = {"Accept-Language": "ar"}


class Call(NamedTuple):
    """A request.

    ``{name}`` in the path, the body or the authorization stands for a value in
    ``hosts.SEEDED``.
    """

    method: str
    path: str
    body: object = None
    """Sent as JSON if it is a dict, and without Content-Length, in chunks, if
    it is a tuple.
    """
    headers: dict[str, str] = {}
    authorization: str | None = "valid"
    """The state of the seeded token to send, such as "expired", or else the
    whole header. None sends no header.
    """


COLLECTION, OTHER_COLLECTION = COLLECTIONS
BOOKMARK, OTHER_BOOKMARK, THIRD_BOOKMARK = BOOKMARKS
PATH_OF_GROUP_1 = "/api/user?user_group_id=group%201"
GROUP_2 = {
    "user_group_id": "group 2",
    "name": "A",
    "mapping": {"40": 1234567},
    "properties": {"someKey": {"a_b": 1.5}},
}
STALE = {"If-Match": '"1"'}

CALLS = {
    # Reads
    "read a user group": Call("GET", PATH_OF_GROUP_1),
    "read only the headers": Call("HEAD", PATH_OF_GROUP_1),
    "list user groups": Call("GET", "/api/users?limit=1"),
    "resolve a user group token": Call(
        "POST", "/api/user/resolve", {"token": "{user group 1}"}
    ),
    "list access tokens": Call(
        "GET", "/api/user/access-tokens?user_group_id=group%201&limit=2"
    ),
    "list access tokens of the team": Call(
        "GET", "/api/access-tokens?limit=2&expires_before=2100-01-01T00:00:00Z"
    ),
    "describe an API token": Call("GET", "/api/token", authorization="read-only"),
    "describe an access token": Call("GET", "/v1/token", authorization="read-only"),
    "read a bookmark": Call("GET", f"/v1/bookmarks/{BOOKMARK}"),
    "list bookmarks": Call("GET", "/v1/bookmarks?limit=2"),
    # the Arabic title of each seeded bookmark
    "search": Call("GET", "/v1/bookmarks?q=%D9%84%D8%BA%D8%A9"),
    "filter by URL": Call(
        "GET", "/v1/bookmarks?url=https%3A%2F%2Fexample.com%2F11%3Fa_b%3D1.000"
    ),
    "read a collection": Call("GET", f"/v1/collections/{COLLECTION}"),
    "list collections": Call("GET", "/v1/collections"),
    "list deletions": Call("GET", "/v1/deletions?since=2999-12-31T00:00:00Z"),
    "list deleted user groups": Call(
        "GET", "/api/users/deletions?since=2999-12-31T00:00:00Z"
    ),
    "deletions that are too old": Call(
        "GET", "/v1/deletions?since=2000-01-01T00:00:00Z"
    ),
    "export": Call("GET", "/v1/export?format=jsonl"),
    # Content negotiation, which the API does not offer
    "accept HTML": Call("GET", PATH_OF_GROUP_1, headers={"Accept": "text/html"}),
    "ask for a format": Call("GET", f"{PATH_OF_GROUP_1}&format=api"),
    "read in German": Call("GET", PATH_OF_GROUP_1, headers=GERMAN),
    "cookies of a browser": Call(
        "POST", "/api/user", {}, {**JSON, "Cookie": "csrftoken=" + 32 * "a"}
    ),
    "another origin": Call("POST", "/api/user", {}, {"Origin": "https://evil.example"}),
    # Authentication
    "no token": Call("GET", PATH_OF_GROUP_1, authorization=None),
    "no token, in German": Call(
        "GET", PATH_OF_GROUP_1, headers=GERMAN, authorization=None
    ),
    "malformed token": Call("GET", PATH_OF_GROUP_1, authorization="Token a b"),
    "unknown token": Call("GET", "/v1/bookmarks", authorization="Bearer unknown"),
    "wrong scheme": Call("GET", PATH_OF_GROUP_1, authorization="Bearer {Bearer valid}"),
    "expired token": Call("GET", PATH_OF_GROUP_1, authorization="expired"),
    "revoked token": Call("GET", "/v1/bookmarks", authorization="revoked"),
    "write with a read-only token": Call(
        "POST", "/v1/bookmarks", {}, authorization="read-only"
    ),
    "token in the query string": Call(
        "GET", f"{PATH_OF_GROUP_1}&token=unknown", authorization=None
    ),
    # Methods and paths
    "wrong method": Call("DELETE", "/v1/bookmarks"),
    "OPTIONS": Call("OPTIONS", "/v1/bookmarks", authorization=None),
    "unknown method": Call("BREW", "/api/user"),
    "unknown path": Call("GET", "/api/unknown"),
    "trailing slash": Call("GET", "/api/users/"),
    "two slashes": Call("GET", "/api//users"),
    "path that is not UTF-8": Call("GET", "/v1/bookmarks/%ff"),
    # Bodies
    "no body": Call("POST", "/v1/bookmarks", headers=JSON),
    "no media type": Call("POST", "/v1/bookmarks", b"{}"),
    "form": Call("POST", "/api/user", b"user_group_id=a", FORM),
    "not JSON": Call("PUT", "/api/user", b"{", JSON),
    "not UTF-8": Call("PUT", "/api/user", b'{"a": "\xff"}', JSON),
    "not an object": Call("PUT", "/api/user", b"[]", JSON),
    "NaN": Call("PUT", "/api/user", b'{"a": NaN}', JSON),
    "too large": Call("PUT", "/api/user", b'{"a": "%s"}' % (b"a" * MIB), JSON),
    "too large, in chunks": Call("PUT", "/api/user", (b"a" * MIB, b"a"), JSON),
    "in chunks": Call("POST", "/v1/bookmarks", (b'{"url": ', b'"example.com"}'), JSON),
    # Fields
    "missing fields": Call("POST", "/v1/bookmarks", {}),
    "missing fields, in German": Call("POST", "/v1/bookmarks", {}, GERMAN),
    "invalid fields": Call(
        "PUT",
        "/api/user",
        {"user_group_id": "", "name": 1, "mapping": {"a": []}, "properties": 1},
    ),
    "invalid fields, in German": Call(
        "PUT", "/api/user", {"user_group_id": "a" * 256, "name": None}, GERMAN
    ),
    "invalid URL": Call("POST", "/v1/bookmarks", {"url": "example.com"}),
    "unknown collection": Call(
        "POST",
        "/v1/bookmarks",
        {"url": "https://example.com/", "collection": "unknown"},
    ),
    "camel case": Call("POST", "/api/user", {"userGroupId": "group 1"}),
    "localized time": Call(
        "POST", "/v1/bookmarks", {"url": "http://a/", "created_at": "02.01.2026 03:04"}
    ),
    "invalid limit": Call("GET", "/v1/bookmarks?limit=0"),
    "invalid order, in Arabic": Call("GET", "/api/users?order=random", headers=ARABIC),
    "invalid cursor": Call("GET", "/v1/collections?cursor=a"),
    "query string that is not UTF-8": Call("GET", "/v1/bookmarks?q=%ff"),
    "too many parameters": Call(
        "GET", "/v1/bookmarks?" + "&".join(f"a{number}=" for number in range(101))
    ),
    # Objects
    "unknown user group": Call("GET", "/api/user?user_group_id=unknown"),
    "unknown bookmark": Call("GET", "/v1/bookmarks/unknown"),
    "unknown access token": Call("DELETE", "/api/user/access-tokens/unknown"),
    "stale version, in German": Call(
        "DELETE", f"/v1/collections/{COLLECTION}", headers={**STALE, **GERMAN}
    ),
    "version of a user group": Call(
        "PUT", "/api/user", {**GROUP_2, "user_group_id": "group 1"}, STALE
    ),
    # Writes
    "get or create": Call("POST", "/api/user", {"user_group_id": "group 1"}),
    "create": Call(
        "POST", "/api/user", {"user_group_id": "group 3/ü", "name": "٢٬٣٤٥"}
    ),
    "update": Call("PUT", "/api/user", GROUP_2),
    "rotate": Call("POST", "/api/user/token", {"user_group_id": "group 2"}),
    "batch of user groups": Call(
        "POST", "/api/users/batch", {"user_groups": [GROUP_2, {"user_group_id": 1}]}
    ),
    "issue": Call(
        "POST",
        "/api/user/access-tokens",
        {"user_group_id": "group 2", "expires_in": 60},
    ),
    "revoke": Call("DELETE", "/api/user/access-tokens/{id of Bearer expired}"),
    "batch of access tokens": Call(
        "POST",
        "/api/user/access-tokens/batch",
        {"user_group_ids": ["group 2", "unknown", 1], "expires_in": 60},
    ),
    "revoke access tokens": Call(
        "POST",
        "/api/user/access-tokens/batch/revoke",
        {"ids": ["{id of Bearer expired}", "unknown", 1]},
    ),
    "rotate an API token": Call("POST", "/api/token/rotate", {"grace": 3600}),
    "rotate an access token": Call("POST", "/v1/token/rotate", {"grace": 3600}),
    "rotate a token twice, in German": Call(
        "POST", "/v1/token/rotate", {"grace": 3600}, GERMAN
    ),
    "create a bookmark": Call(
        "POST", "/v1/bookmarks", {"url": "https://example.com/ü", "title": "Ü"}
    ),
    "create a bookmark twice": Call(
        "POST", "/v1/bookmarks", {"url": "https://example.com/ü"}
    ),
    "update a bookmark": Call(
        "PATCH", f"/v1/bookmarks/{BOOKMARK}", {"title": "  A ", "collection": None}
    ),
    "make a duplicate": Call(
        "PATCH",
        f"/v1/bookmarks/{OTHER_BOOKMARK}",
        {"url": "https://example.com/13?a_b=1.000"},
    ),
    "batch of bookmarks": Call(
        "POST",
        "/v1/bookmarks/batch",
        {"bookmarks": [{"url": "http://a/"}, {"url": "a"}, 1]},
    ),
    "move bookmarks": Call(
        "POST",
        "/v1/bookmarks/batch/move",
        {"ids": [str(BOOKMARK), "a"], "collection": None},
    ),
    "delete bookmarks": Call(
        "POST", "/v1/bookmarks/batch/delete", {"ids": [str(THIRD_BOOKMARK), 1]}
    ),
    "look up URLs": Call(
        "POST", "/v1/bookmarks/lookup", {"urls": ["https://example.com/ü", "a", 1]}
    ),
    "delete a bookmark": Call("DELETE", f"/v1/bookmarks/{BOOKMARK}"),
    "create a collection": Call("POST", "/v1/collections", {"name": "A"}),
    "create a collection twice, in German": Call(
        "POST", "/v1/collections", {"name": "A"}, GERMAN
    ),
    "update a collection": Call(
        "PATCH", f"/v1/collections/{COLLECTION}", {"name": "B"}
    ),
    "delete a collection": Call("DELETE", f"/v1/collections/{OTHER_COLLECTION}"),
    "import": Call(
        "POST",
        "/v1/imports?format=csv",
        b"url,title\nhttps://b/,B\nx,C\n",
        {"Content-Type": "text/csv"},
    ),
    "delete user groups": Call(
        "POST", "/api/users/batch/delete", {"user_group_ids": ["group 3/ü", "a", 1]}
    ),
    "delete a user group": Call("DELETE", "/api/user?user_group_id=group%202"),
}
