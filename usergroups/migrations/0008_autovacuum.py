"""Let PostgreSQL analyse and vacuum user groups after a number of changes that does not grow with the table.

The lock conflicts with neither reads nor writes, only with a vacuum, which PostgreSQL ends after a second.
"""

from django.apps import apps
from django.db import migrations

# The label, which a host project may change.
USERGROUPS = apps.get_containing_app_config('usergroups').label

SETTINGS = {
    'autovacuum_analyze_scale_factor': '0',
    'autovacuum_analyze_threshold': '10000',
    'autovacuum_vacuum_scale_factor': '0.05',
    'autovacuum_vacuum_threshold': '10000',
}


def change(apps, schema_editor, action):
    if schema_editor.connection.vendor != 'postgresql':
        return
    schema_editor.execute("SET LOCAL lock_timeout = '10s'")
    table = schema_editor.quote_name(apps.get_model(USERGROUPS, 'UserGroup')._meta.db_table)
    schema_editor.execute(f'ALTER TABLE {table} {action}')


def set_options(apps, schema_editor):
    options = ', '.join(f'{name} = {value}' for name, value in SETTINGS.items())
    change(apps, schema_editor, f'SET ({options})')


def reset_options(apps, schema_editor):
    names = ', '.join(SETTINGS)
    change(apps, schema_editor, f'RESET ({names})')


class Migration(migrations.Migration):

    dependencies = [
        (USERGROUPS, '0007_event_entry'),
    ]

    operations = [
        migrations.RunPython(set_options, reset_options),
    ]
