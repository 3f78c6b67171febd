"""A search of a list reads only rows of the user group or collection by which
the list is filtered, although one user group has almost all rows.
"""

from itertools import chain, product

import pytest
from django.db import connection

from bookmarks.models import Collection
from tests.admin.actions import url
from tests.bookmarks.test_plans import owners  # noqa: F401
from tests.queries import plan_nodes, queries_of
from usergroups.admin_tools import search

pytestmark = pytest.mark.skipif(
    connection.vendor != "postgresql", reason="SQLite has no statistics"
)


def filters_of(owner):
    """Return the query parameters of filters by the condition of their plans."""
    collection = Collection.objects.get(user_group=owner, name="Collection")
    return {
        "user_group_id = ": {"user_group__id__exact": owner.pk},
        "collection_id = ": {"collection__id__exact": collection.pk},
    }


def is_of_owner(node, condition):
    """Return whether a node reads no bookmarks, those of the condition, or those
    with the keys that the statement names.
    """
    if node["Node Type"] == "Bitmap Heap Scan":
        return True  # The Bitmap Index Scan below it has the condition.
    is_table = node.get("Relation Name") == "bookmarks_bookmark"
    is_index = node.get("Index Name", "").startswith("bookmarks_")
    if not is_table and not is_index:
        return True
    index_condition = node.get("Index Cond", "")
    return condition in index_condition or "(id = ANY (" in index_condition


def test_each_statement_of_a_search_reads_an_index_of_the_filter(
    admin_client,
    owners,  # noqa: F811
    monkeypatch,
):
    # of 2,000 or 18,000 rows of the user group, and of 200 in its collection
    monkeypatch.setattr(search, "MAX_LISTED", 100)
    wrong = []
    for owner, text in product(owners, ["nowhere", "example"]):
        for condition, query in filters_of(owner).items():
            statements = queries_of(
                admin_client.get,
                url("bookmarks_bookmark_changelist"),
                {**query, "q": text},
            )
            searches = [sql for sql in statements if 'FROM "bookmarks_bookmark"' in sql]
            assert len(searches) == 4
            for node in chain.from_iterable(map(plan_nodes, searches)):
                if not is_of_owner(node, condition):
                    wrong.append((text, condition, node))

    assert wrong == []
