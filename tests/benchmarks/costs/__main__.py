import logging
import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path

import dj_database_url
from django.core.management import call_command
from django.db import connection
from django.test import Client
from drf_spectacular.generators import SchemaGenerator

from tests.bookmarks_service.service import empty_database
from tests.operations import OPERATIONS

from .calls import FULL, SHORT, Search
from .measuring import Cost, Request
from .pages import Pages


def report(costs: Iterable[tuple[str, Request, Cost]]) -> int:
    """Print the dearest requests, and return the number of those that are too
    dear.
    """
    by_name: dict[str, list[tuple[Cost, Request]]] = defaultdict(list)
    for name, request, cost in costs:
        by_name[name].append((cost, request))
        if cost.is_too_high:
            print("TOO HIGH", name, cost, "|", request.name, flush=True)
    number = 0
    for name, found in by_name.items():
        found.sort(key=lambda each: each[0].share, reverse=True)
        print(name, len(found))
        for cost, request in found[:3]:
            print("   ", cost, "|", request.name, flush=True)
        number += sum(cost.is_too_high for cost, _ in found)
    return number


def main(arguments: list[str]) -> None:
    size = SHORT if "--short" in arguments else FULL
    names = [each for each in arguments if not each.startswith("-")]
    # Only here, because tests import the modules of this package.
    logging.disable(logging.WARNING)
    with tempfile.TemporaryDirectory() as folder, empty_database(Path(folder)) as url:
        connection.settings_dict["NAME"] = dj_database_url.parse(url)["NAME"]
        call_command("migrate", verbosity=0)
        document = SchemaGenerator().get_schema(request=None, public=True)
        search = Search.create(document, size)
        too_high = report(search.costs(names or OPERATIONS))
        client = Client(raise_request_exception=False, SERVER_NAME="localhost")
        too_high += report(Pages(client, size).costs(names))
        connection.close()
    sys.exit(bool(too_high))


if __name__ == "__main__":
    main(sys.argv[1:])
