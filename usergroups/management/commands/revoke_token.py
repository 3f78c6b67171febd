from typing import Any

from django.core.management.base import CommandParser

from usergroups.management import options as shared
from usergroups.management.base import OperatorCommand


class Command(OperatorCommand):
    help = "Revokes a token permanently."

    def add_arguments(self, parser: CommandParser) -> None:
        shared.add_token_id(parser)

    def handle(self, *args: Any, **options: Any) -> None:
        token = shared.token(options)
        token.revoke()
        if options["json"]:
            self.stdout.write(shared.token_json(token))
        self.stderr.write(f"Revoked the token {token} of {token.owner}.", self.style.SUCCESS)
