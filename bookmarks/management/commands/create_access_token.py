from typing import Any

from django.core.management.base import CommandParser
from django.db import router, transaction

from bookmarks.models import AccessToken
from usergroups.management import options as shared
from usergroups.management.base import OperatorCommand


class Command(OperatorCommand):
    help = "Issues an access token and prints its secret, which is not shown again."

    def add_arguments(self, parser: CommandParser) -> None:
        shared.add_user_group(parser)
        shared.add_token(parser)

    def handle(self, *args: Any, **options: Any) -> None:
        user_group = shared.user_group(options)
        with transaction.atomic(using=router.db_for_write(AccessToken)):
            token, secret = AccessToken.objects.issue(user_group=user_group, **shared.token_fields(options))
            self.write_result(secret)
        self.stderr.write(f"Issued the access token {token} for the user group {user_group}.", self.style.SUCCESS)
