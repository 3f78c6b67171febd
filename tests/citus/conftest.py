"""The tests use partitions in place of the shards of Citus.

To run them on Citus, prepare a database ``test_bookmarks`` as docs/citus.md says,
and keep it:

    DATABASE_URL=postgres://postgres@HOST/bookmarks python -m pytest -n 0 --reuse-db \\
        tests/api tests/admin tests/citus/test_admin.py tests/citus/test_shards.py
"""

from tests.bookmarks.conftest import (  # noqa: F401
    access_token,
    call_bookmarks,
    collection,
    create_bookmark,
)
