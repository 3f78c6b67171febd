from tests.bookmarks.conftest import access_token, call_bookmarks  # noqa: F401
