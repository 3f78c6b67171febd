"""Refuse bookmarks in collections of other user groups, on PostgreSQL.

Existing bookmarks are checked by the next migration, which needs no lock that writes wait for.
"""

from django.apps import apps
from django.db import migrations

# The label, which a host project may change.
BOOKMARKS = apps.get_containing_app_config('bookmarks').label

CONSTRAINT = 'bookmarks_collection_of_group'


def table_of(name, apps, schema_editor):
    return schema_editor.quote_name(apps.get_model(BOOKMARKS, name)._meta.db_table)


def add_constraint(apps, schema_editor):
    if schema_editor.connection.vendor == 'postgresql':
        bookmark = table_of('Bookmark', apps, schema_editor)
        collection = table_of('Collection', apps, schema_editor)
        schema_editor.execute(
            f'ALTER TABLE {bookmark} ADD CONSTRAINT {CONSTRAINT} FOREIGN KEY (user_group_id, collection_id)'
            f' REFERENCES {collection} (user_group_id, id) DEFERRABLE INITIALLY DEFERRED NOT VALID'
        )


def drop_constraint(apps, schema_editor):
    if schema_editor.connection.vendor == 'postgresql':
        bookmark = table_of('Bookmark', apps, schema_editor)
        schema_editor.execute(f'ALTER TABLE {bookmark} DROP CONSTRAINT {CONSTRAINT}')


class Migration(migrations.Migration):

    dependencies = [
        (BOOKMARKS, '0002_collection_owner_index'),
    ]

    operations = [
        migrations.RunPython(add_constraint, drop_constraint),
    ]
