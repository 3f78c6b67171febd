from collections.abc import Iterator
from itertools import islice
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import IntegrityError, router
from rest_framework.exceptions import ValidationError

from usergroups import json_lines
from usergroups.contract.batch import MAX_ITEMS
from usergroups.contract.errors import failure
from usergroups.management import options as shared
from usergroups.management.files import opened, undone
from usergroups.models import UserGroup
from usergroups.serializers import UserGroupUpdateSerializer


class Command(BaseCommand):
    help = (
        "Updates or creates the user groups of a file of any length: on each line a JSON object as PUT /api/user "
        "takes it. What a line leaves out stays as it is; groups that the file does not have stay too."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("file", help="JSON Lines; - is standard input.")
        shared.add_team(parser)
        parser.add_argument("--dry-run", action="store_true", help="Tell what would be done, and do nothing.")

    def handle(self, *args: Any, **options: Any) -> None:
        scope = {"team_id": shared.team(options).pk, "environment": options["environment"]}
        created = updated = refused = 0
        with opened(options["file"]) as source, undone(options["dry_run"], router.db_for_write(UserGroup)):
            lines = json_lines.read(source.file)
            while chunk := list(islice(lines, MAX_ITEMS)):
                items: list[dict[str, Any]] = []
                source.bar.clear()
                for number, value in chunk:
                    try:
                        items.append(validated(value))
                    except ValueError as error:
                        refused += 1
                        self.stderr.write(f"line {number}: {error}")
                try:
                    done = UserGroup.objects.put(items, scope)
                except IntegrityError:
                    raise CommandError("The team was deleted meanwhile.") from None
                new = sum(is_new for _, is_new in done)
                created += new
                updated += len(done) - new
                source.advance()
        summary = f"{created} created, {updated} updated, {refused} refused."
        self.stdout.write(f"{'Nothing was done. It would be: ' if options['dry_run'] else ''}{summary}")


def validated(value: dict[str, Any] | ValueError) -> dict[str, Any]:
    """Return what PUT would make of the object. Raises ValueError with the reasons why it would refuse it."""
    if isinstance(value, ValueError):
        raise value
    serializer = UserGroupUpdateSerializer(data=value)
    try:
        serializer.is_valid(raise_exception=True)
    except ValidationError as error:
        raise ValueError(" ".join(reasons(error))) from None
    fields: dict[str, Any] = serializer.validated_data
    return fields


def reasons(error: ValidationError) -> Iterator[str]:
    for problem in failure(error)["errors"]:
        yield f"{problem['attr']}: {problem['detail']}"
