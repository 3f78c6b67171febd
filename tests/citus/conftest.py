from tests.bookmarks.conftest import access_token, call_bookmarks, collection, create_bookmark  # noqa: F401
