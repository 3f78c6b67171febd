"""Benchmarks: commands that print figures.

``applications/`` has what ``operations`` compares the service with.
"""

import logging
import os

import django

os.environ["DJANGO_SETTINGS_MODULE"] = "tests.settings"
django.setup()
logging.disable(logging.INFO)  # the log of each call
