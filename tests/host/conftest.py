"""The tests in a folder of this one run with the settings of a host project: see test_host.py."""

from django.conf import settings

FOLDERS = {"labelled": "settings_labelled", "notes": "settings_admin", "people": "settings_admin",
           "replica": "settings_replica"}  # fmt: skip

collect_ignore = [folder for folder, name in FOLDERS.items() if f"tests.host.{name}" != settings.SETTINGS_MODULE]
