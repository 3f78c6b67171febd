"""Benchmarks: commands that print figures, without the log of each call. ``rivals/`` is a part of ``operations``."""

import logging
import os

import django

os.environ["DJANGO_SETTINGS_MODULE"] = "tests.settings"
django.setup()
logging.disable(logging.INFO)
