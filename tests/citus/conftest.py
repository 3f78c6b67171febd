from tests.bookmarks.conftest import (  # noqa: F401
    access_token,
    call_bookmarks,
    collection,
    create_bookmark,
)
