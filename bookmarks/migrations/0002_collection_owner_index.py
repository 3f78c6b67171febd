"""Let a foreign key refer to a collection together with its user group."""

from django.apps import apps
from django.db import migrations

# The label, which a host project may change.
BOOKMARKS = apps.get_containing_app_config('bookmarks').label

INDEX = 'bookmarks_collection_owner'


def create_index(apps, schema_editor):
    drop_index(apps, schema_editor)
    if schema_editor.connection.vendor == 'postgresql':
        table = schema_editor.quote_name(apps.get_model(BOOKMARKS, 'Collection')._meta.db_table)
        schema_editor.execute(f'CREATE UNIQUE INDEX CONCURRENTLY {INDEX} ON {table} (user_group_id, id)')


def drop_index(apps, schema_editor):
    """Drop the index, also an invalid one that an interrupted migration has left."""
    if schema_editor.connection.vendor == 'postgresql':
        schema_editor.execute(f'DROP INDEX CONCURRENTLY IF EXISTS {INDEX}')


class Migration(migrations.Migration):

    atomic = False

    dependencies = [
        (BOOKMARKS, '0001_initial'),
    ]

    operations = [
        migrations.RunPython(create_index, drop_index),
    ]
