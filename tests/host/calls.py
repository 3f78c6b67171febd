"""Unusual calls, to which every host gives the same responses if it receives
them in this order.

``tests/calls.py`` has the usual ones.
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


COLLECTION = COLLECTIONS[0]
PATH_OF_GROUP_1 = "/api/user?user_group_id=group%201"
STALE = {"If-Match": '"1"'}

CALLS = {
    # Reads
    "read only the headers": Call("HEAD", PATH_OF_GROUP_1),
    "describe an API token": Call("GET", "/api/token", authorization="read-only"),
    "describe an access token": Call("GET", "/v1/token", authorization="read-only"),
    "first page of user groups": Call("GET", "/api/users?limit=1"),
    "first page of bookmarks": Call("GET", "/v1/bookmarks?limit=2"),
    # the Arabic title of each seeded bookmark
    "search": Call("GET", "/v1/bookmarks?q=%D9%84%D8%BA%D8%A9"),
    "deletions that are too old": Call(
        "GET", "/v1/deletions?since=2000-01-01T00:00:00Z"
    ),
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
    "wrong scheme": Call("GET", PATH_OF_GROUP_1, authorization="Bearer {Bearer valid}"),
    "expired token": Call("GET", PATH_OF_GROUP_1, authorization="expired"),
    "write with a read-only token": Call(
        "POST", "/v1/bookmarks", {}, authorization="read-only"
    ),
    "token in the query string": Call(
        "GET", f"{PATH_OF_GROUP_1}&token=unknown", authorization=None
    ),
    # Methods and paths
    "wrong method": Call("DELETE", "/v1/bookmarks"),
    "OPTIONS": Call("OPTIONS", "/v1/bookmarks", authorization=None),
    "unknown path": Call("GET", "/api/unknown"),
    "trailing slash": Call("GET", "/api/users/"),
    "path that is not UTF-8": Call("GET", "/v1/bookmarks/%ff"),
    # Bodies
    "no body": Call("POST", "/v1/bookmarks", headers=JSON),
    "form": Call("POST", "/api/user", b"user_group_id=a", FORM),
    "not JSON": Call("PUT", "/api/user", b"{", JSON),
    "not UTF-8": Call("PUT", "/api/user", b'{"a": "\xff"}', JSON),
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
    "camel case": Call("POST", "/api/user", {"userGroupId": "group 1"}),
    "localized time": Call(
        "POST", "/v1/bookmarks", {"url": "http://a/", "created_at": "02.01.2026 03:04"}
    ),
    "invalid limit": Call("GET", "/v1/bookmarks?limit=0"),
    "invalid order, in Arabic": Call("GET", "/api/users?order=random", headers=ARABIC),
    "query string that is not UTF-8": Call("GET", "/v1/bookmarks?q=%ff"),
    # Objects
    "unknown user group": Call("GET", "/api/user?user_group_id=unknown"),
    "stale version, in German": Call(
        "DELETE", f"/v1/collections/{COLLECTION}", headers={**STALE, **GERMAN}
    ),
    "version of a user group": Call(
        "PUT", "/api/user", {"user_group_id": "group 1", "name": "A"}, STALE
    ),
    # Writes
    "create": Call(
        "POST", "/api/user", {"user_group_id": "group 3/ü", "name": "٢٬٣٤٥"}
    ),
    "make a duplicate": Call(
        "PATCH",
        f"/v1/bookmarks/{BOOKMARKS[0]}",
        {"url": "https://example.com/13?a_b=1.000"},
    ),
    "create a collection again, in German": Call(
        "POST", "/v1/collections", {"name": f"Sammlung {COLLECTION.int}"}, GERMAN
    ),
    "import": Call(
        "POST",
        "/v1/imports?format=csv",
        b"url,title\nhttps://b/,B\nx,C\n",
        {"Content-Type": "text/csv"},
    ),
}
