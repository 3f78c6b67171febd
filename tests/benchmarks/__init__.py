"""Benchmarks: each module is a command that prints its figures, without the log of each call."""

import logging
import os

import django

os.environ["DJANGO_SETTINGS_MODULE"] = "tests.settings"
django.setup()
logging.disable(logging.INFO)
