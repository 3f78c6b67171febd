"""Benchmarks: commands that print figures.

``applications/`` has what ``operations`` compares the service with.
"""

import os

import django

os.environ["DJANGO_SETTINGS_MODULE"] = "tests.settings"
django.setup()
