from collections import Counter
from collections.abc import Iterator
from io import BufferedReader
from itertools import islice
from typing import Any

from django.core.management.base import CommandError, CommandParser, no_translations
from django.db import IntegrityError, router
from django.utils import timezone
from rest_framework.exceptions import ValidationError

from usergroups.contract.batch import MAX_ITEMS
from usergroups.contract.errors import failure
from usergroups.contract.files import DecompressedFile, read_lines
from usergroups.management import options as shared
from usergroups.management.base import OperatorCommand, open_source, rollback_if
from usergroups.models import UserGroup
from usergroups.serializers import UserGroupUpdateSerializer


class Command(OperatorCommand):
    help = (
        "Updates or creates user groups from a file of any size. Each line is a JSON object in the format of "
        "PUT /api/user. Omitted fields and groups that are not in the file do not change. The file may be compressed "
        "with gzip."
    )
    summary = ""

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("file", help="A JSON Lines file, or - for standard input.")
        shared.add_team(parser)
        parser.add_argument("--dry-run", action="store_true", help="Report what would change, without changing it.")

    @no_translations  # Reasons are in English, like the rest of the output.
    def handle(self, *args: Any, **options: Any) -> None:
        scope = {"team_id": shared.team(options).pk, "environment": options["environment"]}
        counts: Counter[str] = Counter()
        self.summarize(counts, options["dry_run"])
        with open_source(options["file"]) as source, rollback_if(options["dry_run"], router.db_for_write(UserGroup)):
            file = DecompressedFile(source)
            lines = read_lines(BufferedReader(file))
            while chunk := list(islice(lines, MAX_ITEMS)):
                items = list(self.valid_items(chunk))
                start = timezone.now()
                try:
                    stored = UserGroup.objects.upsert(items, scope)
                except IntegrityError:
                    raise CommandError("The team was deleted during the synchronization.") from None
                new = sum(is_new for _, is_new in stored)
                changed = sum(not is_new and group.updated_at >= start for group, is_new in stored)
                unchanged = len(stored) - new - changed
                counts.update(created=new, updated=changed, unchanged=unchanged, refused=len(chunk) - len(items))
                self.summarize(counts, options["dry_run"])
        if file.error:
            raise CommandError(f"{file.error} Only what comes before was read: {self.summary}")
        self.stdout.write(self.summary)

    def summarize(self, counts: Counter[str], dry_run: bool) -> None:
        numbers = ", ".join(f"{counts[name]} {name}" for name in ("created", "updated", "unchanged", "refused"))
        self.summary = f"{'Dry run, nothing was changed: ' if dry_run else ''}{numbers}."

    def describe_progress(self) -> str:
        return f"Run the command again to synchronize the rest. Result so far: {self.summary}" if self.summary else ""

    def valid_items(self, lines: list[tuple[int, dict[str, Any] | ValueError]]) -> Iterator[dict[str, Any]]:
        """Yield the validated fields of each line, and report invalid lines."""
        for number, value in lines:
            try:
                yield validated(value)
            except ValueError as error:
                self.stderr.write(f"line {number}: {error}")


def validated(value: dict[str, Any] | ValueError) -> dict[str, Any]:
    """Return the validated fields of a line. Raises ValueError with the reasons why it is invalid."""
    if isinstance(value, ValueError):
        raise value
    serializer = UserGroupUpdateSerializer(data=value)
    try:
        serializer.is_valid(raise_exception=True)
    except ValidationError as error:
        problems = failure(error)["errors"]
        raise ValueError(" ".join(f"{problem['attr']}: {problem['detail']}" for problem in problems)) from None
    fields: dict[str, Any] = serializer.validated_data
    return fields
