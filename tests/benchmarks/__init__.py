"""Benchmarks: commands that print figures. ``rivals/`` has the applications with which ``operations`` compares."""

import logging
import os

import django

os.environ["DJANGO_SETTINGS_MODULE"] = "tests.settings"
django.setup()
logging.disable(logging.INFO)  # the log of each call
