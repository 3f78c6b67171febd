from typing import Any

from django.core.management.base import CommandError, CommandParser
from django.db import router, transaction

from bookmarks.models import MAX_COLLECTION_NAME_LENGTH, Collection
from bookmarks.public_ids import Duplicate
from usergroups.management import options as shared
from usergroups.management.base import OperatorCommand


class Command(OperatorCommand):
    help = "Creates a collection and prints its id."

    def add_arguments(self, parser: CommandParser) -> None:
        shared.add_user_group(parser)
        parser.add_argument("--name", required=True, type=shared.text(MAX_COLLECTION_NAME_LENGTH), metavar="TEXT")

    def handle(self, *args: Any, **options: Any) -> None:
        user_group = shared.user_group(options)
        try:
            with transaction.atomic(using=router.db_for_write(Collection)):
                collection = Collection.objects.add(user_group, options["name"])
                self.write_result(str(collection.pk))
        except Duplicate:
            raise CommandError(f"The user group already has a collection {options['name']!r}.") from None
        self.stderr.write(f"Created the collection {collection}.", self.style.SUCCESS)
