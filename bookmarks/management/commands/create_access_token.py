from typing import Any

from django.core.management.base import BaseCommand, CommandParser

from bookmarks.models import AccessToken
from usergroups.management import options as shared


class Command(BaseCommand):
    help = "Issues an access token and prints its secret, which is not shown again."

    def add_arguments(self, parser: CommandParser) -> None:
        shared.add_user_group(parser)
        shared.add_token(parser)

    def handle(self, *args: Any, **options: Any) -> None:
        user_group = shared.user_group(options)
        token, secret = AccessToken.objects.issue(user_group=user_group, **shared.token_fields(options))
        self.stderr.write(f"Issued the access token {token} for the user group {user_group}.", self.style.SUCCESS)
        self.stdout.write(secret)
