"""Find the successor of a token by an index, which is created without locking
the table.
"""

from django.apps import apps
from django.db import migrations, models

# The label, which a host project may change.
BOOKMARKS = apps.get_containing_app_config('bookmarks').label

INDEX = models.Index(
    condition=models.Q(('predecessor_id__isnull', False)),
    fields=['predecessor_id', 'id'],
    name='bookmarks_token_successors',
)


def create_index(apps, schema_editor):
    drop_index(apps, schema_editor)
    options = {}
    if schema_editor.connection.vendor == 'postgresql':
        options = {'concurrently': True}
    schema_editor.add_index(apps.get_model(BOOKMARKS, 'accesstoken'), INDEX, **options)


def drop_index(apps, schema_editor):
    """Drop the index, also an invalid one that an interrupted migration has left."""
    concurrently = ''
    if schema_editor.connection.vendor == 'postgresql':
        concurrently = 'CONCURRENTLY'
    schema_editor.execute(f'DROP INDEX {concurrently} IF EXISTS {INDEX.name}')


class Migration(migrations.Migration):

    atomic = False

    dependencies = [
        (BOOKMARKS, '0006_related_managers'),
    ]

    operations = [
        migrations.SeparateDatabaseAndState(
            [migrations.RunPython(create_index, drop_index)],
            [migrations.AddIndex('accesstoken', INDEX)],
        ),
    ]
