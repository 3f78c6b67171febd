#!/usr/bin/env python
"""Django's command line for the service."""

import os
import secrets
import sys

from django.core.exceptions import ImproperlyConfigured
from django.core.management import execute_from_command_line
from environs import EnvError

if __name__ == "__main__":
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "bookmarks_service.settings")
    if sys.argv[1:2] == ["quickstart"]:
        # A trial needs a key, not a lasting one: with the next start operators log in again.
        os.environ["SECRET_KEY"] = os.environ.get("SECRET_KEY") or secrets.token_urlsafe(48)
    try:
        execute_from_command_line(sys.argv)
    except (ImproperlyConfigured, EnvError) as error:
        sys.exit(str(error))
