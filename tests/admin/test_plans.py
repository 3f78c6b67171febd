"""A search of a list reads only rows of the user group or collection by which
the list is filtered, although one user group has almost all rows.
"""

from itertools import chain

import pytest
from django.db import connection

from bookmarks.models import Collection
from tests.admin.actions import url
from tests.bookmarks.test_plans import owner  # noqa: F401
from tests.queries import plan_nodes, queries_of
from usergroups.admin_tools import search

pytestmark = pytest.mark.skipif(
    connection.vendor != "postgresql", reason="SQLite has no statistics"
)


@pytest.mark.parametrize("text", ["nowhere", "example"])
def test_each_statement_of_a_search_reads_an_index_of_the_filter(
    admin_client,
    owner,  # noqa: F811
    text,
    monkeypatch,
):
    # of 2,000 or 18,000 rows of the user group, and of 200 in its collection
    monkeypatch.setattr(search, "MAX_LISTED", 100)
    collection = Collection.objects.get(user_group=owner, name="Collection")
    filters = {
        "user_group_id = ": {"user_group__id__exact": owner.pk},
        "collection_id = ": {"collection__id__exact": collection.pk},
    }
    wrong = []
    for condition, query in filters.items():
        statements = queries_of(
            admin_client.get, url("bookmarks_bookmark_changelist"), {**query, "q": text}
        )
        searches = [sql for sql in statements if 'FROM "bookmarks_bookmark"' in sql]
        assert len(searches) == 5
        for node in chain.from_iterable(map(plan_nodes, searches)):
            is_table = node.get("Relation Name") == "bookmarks_bookmark"
            is_index = node.get("Index Name", "").startswith("bookmarks_")
            if node["Node Type"] == "Bitmap Heap Scan" or not (is_table or is_index):
                continue
            if condition not in node.get("Index Cond", ""):
                wrong.append(node)

    assert wrong == []
