from datetime import timedelta
from typing import Any

from django.core.management.base import CommandError, CommandParser
from django.db import router, transaction

from usergroups.management import options as shared
from usergroups.management.base import OperatorCommand


class Command(OperatorCommand):
    help = "Issues a successor of a token and prints its secret, which is not shown again. The token expires later."

    def add_arguments(self, parser: CommandParser) -> None:
        shared.add_token_id(parser)
        parser.add_argument(
            "--grace", type=int, default=24, metavar="HOURS", help="The token expires after these hours. Default: 24."
        )

    def handle(self, *args: Any, **options: Any) -> None:
        if not 0 <= options["grace"] <= shared.MAX_DAYS * 24:
            raise CommandError(f"--grace must be a number of hours from 0 to {shared.MAX_DAYS * 24}.")
        token = shared.token(options)
        with transaction.atomic(using=router.db_for_write(type(token))):
            try:
                successor, secret = token.rotate(timedelta(hours=options["grace"]))
            except type(token).DoesNotExist:
                raise CommandError(f"The token {token} is not active, or has a successor already.") from None
            self.write_result(shared.token_json(successor, secret=secret) if options["json"] else secret)
        self.stderr.write(f"Issued {successor} in place of {token} of {token.owner}.", self.style.SUCCESS)
