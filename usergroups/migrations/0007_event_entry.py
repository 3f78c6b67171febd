"""Forget the key of the entry of Django's history, whose column remains while the previous version uses it."""

from django.apps import apps
from django.db import migrations

# The label, which a host project may change.
USERGROUPS = apps.get_containing_app_config('usergroups').label


class Migration(migrations.Migration):

    dependencies = [
        (USERGROUPS, '0006_entries_to_events'),
    ]

    operations = [
        migrations.SeparateDatabaseAndState(
            state_operations=[migrations.RemoveField(model_name='event', name='entry')],
        ),
    ]
