"""Benchmarks: commands that print figures, without the log of each call.

``calls.py`` and ``rivals/`` are parts of ``operations``.
"""

import logging
import os

import django

os.environ["DJANGO_SETTINGS_MODULE"] = "tests.settings"
django.setup()
logging.disable(logging.INFO)
