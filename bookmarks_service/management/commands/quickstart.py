"""Set up the service with demo data and serve it."""

import os
import secrets
import sys
from string import Template
from typing import Any

from django.conf import settings
from django.contrib.auth.hashers import make_password
from django.contrib.auth.models import User
from django.core.management import call_command
from django.core.management.base import CommandError, CommandParser
from django.db import connection, transaction

from bookmarks.models import AccessToken
from bookmarks_service.server_check import is_used
from usergroups.management.operator_command import OperatorCommand
from usergroups.models import ApiToken, Team, UserGroup

NAME = "quickstart"  # of the tokens that it issues

OWN_FILE = str(settings.BASE_DIR / "db.sqlite3")  # as in manage.py

SERVER = (
    "granian",
    "bookmarks_service.wsgi:application",
    "--interface=wsgi",
    "--blocking-threads=4",
    f"--static-path-mount={settings.STATIC_ROOT}",
)

NEXT_STEPS = """
The team Demo has the user group example_1 with the collection $collection.

Update the user group:

curl -X PUT $base_url/api/user -w '\\n' \\
  -H 'Authorization: Token $api_token' -H 'Content-Type: application/json' \\
  -d '{"user_group_id": "example_1", "name": "Example 1", "mapping": {"40": "warehouse_eu"}, "properties": {"plan": "pro"}}'

Create a bookmark:

curl -X POST $base_url/v1/bookmarks -w '\\n' \\
  -H 'Authorization: Bearer $access_token' -H 'Content-Type: application/json' \\
  -d '{"url": "https://example.com/", "collection": "$collection"}'

Open the admin at $base_url/admin/ (user operator, password $password) and the API documentation at $base_url/docs/.

These secrets are shown only once. The next quickstart revokes them and creates new ones.
"""


class Command(OperatorCommand):
    help = (
        "Migrates the database, creates demo data, prints example requests, and serves "
        "on 127.0.0.1."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        help_text = "Do not start the server."
        parser.add_argument("--no-serve", action="store_true", help=help_text)
        parser.add_argument(
            "--port", type=int, default=8000, help="The port to serve on."
        )

    def handle(self, *args: object, port: int, no_serve: bool, **options: Any) -> None:
        if not 0 < port < 2**16:
            raise CommandError("--port must be a number from 1 to 65535.")
        # Check this first, because the secrets of a quickstart that is still
        # running are revoked.
        if not no_serve and is_used("127.0.0.1", port):
            raise CommandError(
                f"Another server uses port {port}. Choose another port with --port."
            )
        # Only the current user may read a new SQLite file.
        umask = os.umask(0o077)
        try:
            self.require_demo_database()
            call_command("migrate", verbosity=0)
        finally:
            os.umask(umask)
        with transaction.atomic():
            values = self.create_demo_data()
            base_url = f"http://127.0.0.1:{port}"
            self.stdout.write(
                Template(NEXT_STEPS).substitute(values, base_url=base_url)
            )
            # If the secrets cannot be printed, roll the transaction back.
            self.stdout.flush()
        if not no_serve:
            call_command("collectstatic", interactive=False, verbosity=0)
            # Replace this process by the server.
            os.execv(sys.executable, [sys.executable, "-m", *SERVER, f"--port={port}"])  # noqa: S606

    def require_demo_database(self) -> None:
        """Raise CommandError if the database may be somebody else's.

        It is that of a demo with ``DEBUG``, if it is the file that manage.py
        chooses, or if it has no accounts of operators.
        """
        if settings.DEBUG or settings.DATABASES["default"]["NAME"] == OWN_FILE:
            return
        tables = connection.introspection.table_names()
        if User._meta.db_table in tables and User.objects.exists():
            raise CommandError(
                "The database has accounts, of which quickstart would make one a "
                "superuser. Leave out DATABASE_URL, or set DEBUG=1 for development."
            )

    def create_demo_data(self) -> dict[str, str]:
        """Create the missing objects that the requests need, replace the
        secrets of the last quickstart, and return the values to print.
        """
        team, _ = Team.objects.get_or_create(name="Demo")
        user_group, _ = UserGroup.objects.get_or_create(
            team=team, provided_id="example_1", defaults={"name": "Example 1"}
        )
        collection, _ = user_group.collections.get_or_create(name="Reading list")
        team.api_tokens.filter(name=NAME).revoke()
        user_group.access_tokens.filter(name=NAME).revoke()
        _, api_token = ApiToken.objects.issue(team=team, name=NAME)
        _, access_token = AccessToken.objects.issue(user_group=user_group, name=NAME)
        password = secrets.token_urlsafe(12)
        operator = {
            "is_staff": True,
            "is_superuser": True,
            "is_active": True,
            "password": make_password(password),
        }
        User.objects.update_or_create(username="operator", defaults=operator)
        return {
            "collection": str(collection.pk),
            "api_token": api_token,
            "access_token": access_token,
            "password": password,
        }
