"""Set up and serve a demo."""

import json
import os
import secrets
import sys
from contextlib import closing
from http.client import HTTPConnection
from typing import Any

from django.conf import settings
from django.contrib.auth.models import User
from django.core.management import call_command
from django.core.management.base import CommandError, CommandParser
from django.db import transaction

from bookmarks.models import AccessToken, Bookmark, Collection
from usergroups.management.base import OperatorCommand
from usergroups.models import ApiToken, Team, UserGroup

NAME = "quickstart"

SAMPLES = [
    ("https://docs.djangoproject.com/", "Django documentation"),
    ("https://www.postgresql.org/docs/", "PostgreSQL documentation"),
    ("https://nginx.org/en/docs/", "nginx documentation"),
    ("https://docs.python.org/3/", "Python documentation"),
    ("https://developer.mozilla.org/", "MDN Web Docs"),
]

NEXT_STEPS = """
The team {team} has the user group {user_group} with the collection {collection}.

Update the user group:

curl -X PUT {base_url}/api/user \\
  -H 'Authorization: Token {api_token}' \\
  -H 'Content-Type: application/json' \\
  -w '\\n' \\
  -d '{update}'

Create a bookmark:

curl -X POST {base_url}/v1/bookmarks \\
  -H 'Authorization: Bearer {access_token}' \\
  -H 'Content-Type: application/json' \\
  -w '\\n' \\
  -d '{bookmark}'

Open the admin at {base_url}/admin/ (user {operator}, password {password}) and the API documentation at {base_url}/docs/.

These secrets are shown only once. The next quickstart revokes them and creates new ones.
"""


class Command(OperatorCommand):
    help = "Migrates the database, creates demo data, prints example requests, and serves on 127.0.0.1."

    def add_arguments(self, parser: CommandParser) -> None:
        help_text = "Create only what the requests need, and do not start the server."
        parser.add_argument("--no-serve", action="store_true", help=help_text)
        parser.add_argument("--port", type=int, default=8000, help="The port to serve on.")

    def handle(self, *args: Any, **options: Any) -> None:
        if not 0 < options["port"] < 2**16:
            raise CommandError("--port must be a number from 1 to 65535.")
        if not options["no_serve"]:
            self.check_port(options["port"])  # before the tokens of a running quickstart are revoked
        call_command("migrate", verbosity=0)
        base_url = f"http://127.0.0.1:{options['port']}"
        with transaction.atomic():
            self.write_result(NEXT_STEPS.format(base_url=base_url, **self.create_demo_data()))
            if not options["no_serve"]:
                self.create_sample_bookmarks()
        if options["no_serve"]:
            return
        call_command("collectstatic", interactive=False, verbosity=0)
        arguments = [
            "--interface",
            "wsgi",
            "--port",
            str(options["port"]),
            "--static-path-mount",
            str(settings.STATIC_ROOT),
            "--static-path-expires",
            "31536000",  # seconds; the names of the files change with their content
        ]
        os.execv(sys.executable, [sys.executable, "-m", "granian", *arguments, "bookmarks_service.wsgi:application"])  # noqa: S606

    def check_port(self, port: int) -> None:
        """Raise CommandError if a server uses the port. Granian would share the port with another Granian."""
        with closing(HTTPConnection("127.0.0.1", port)) as connection:
            try:
                connection.connect()
            except ConnectionRefusedError:
                return
        raise CommandError(f"Another server uses port {port}. Choose another port with --port.")

    def create_sample_bookmarks(self) -> None:
        """Create a second user group with bookmarks, so that the admin has something to show."""
        user_group, _ = UserGroup.objects.get_or_create(
            team=Team.objects.get(name="Demo"),
            environment="Testing",
            provided_id="example_2",
            defaults={"name": "Example 2", "mapping": {"40": "warehouse_eu"}, "properties": {"plan": "pro"}},
        )
        collection, _ = Collection.objects.get_or_create(user_group=user_group, name="Documentation")
        for url, title in SAMPLES:
            Bookmark.objects.add(user_group=user_group, url=url, title=title, collection=collection)

    def create_demo_data(self) -> dict[str, str]:
        """Create missing demo data, replace the secrets of the last quickstart, and return the values to print."""
        team, _ = Team.objects.get_or_create(name="Demo")
        user_group, _ = UserGroup.objects.get_or_create(
            team=team, environment="", provided_id="example_1", defaults={"name": "Example 1"}
        )
        collection, _ = Collection.objects.get_or_create(user_group=user_group, name="Reading list")
        for token in (*team.api_tokens.filter(name=NAME), *user_group.access_tokens.filter(name=NAME)):
            token.revoke()
        _, api_token = ApiToken.objects.issue(team=team, name=NAME)
        _, access_token = AccessToken.objects.issue(user_group=user_group, name=NAME)

        operator, _ = User.objects.update_or_create(
            username="operator", defaults={"is_staff": True, "is_superuser": True, "is_active": True}
        )
        password = secrets.token_urlsafe(12)
        operator.set_password(password)
        operator.save()

        return {
            "team": team.name,
            "user_group": user_group.provided_id,
            "collection": str(collection.pk),
            "api_token": api_token,
            "access_token": access_token,
            "operator": operator.username,
            "password": password,
            "update": json.dumps(
                {
                    "user_group_id": user_group.provided_id,
                    "name": "Example 1",
                    "mapping": {"40": "warehouse_eu"},
                    "properties": {"plan": "pro"},
                }
            ),
            "bookmark": json.dumps({"url": "https://example.com/", "collection": str(collection.pk)}),
        }
