"""Check the collections of existing bookmarks, and drop the foreign key that does not name the user group.

Each statement can be run again if the migration is interrupted.
"""

from django.apps import apps
from django.db import IntegrityError, migrations

# The label, which a host project may change.
BOOKMARKS = apps.get_containing_app_config('bookmarks').label

CONSTRAINT = 'bookmarks_collection_of_group'
# in a project that did not change the label
FORMER_CONSTRAINT = 'bookmarks_bookmark_collection_id_122a736d_fk_bookmarks'

WRONG_COLLECTIONS = """Bookmarks are in collections of other user groups, in which their own groups cannot see them.
Nothing was lost or changed. This statement takes them out of these collections:

UPDATE {bookmark} SET collection_id = NULL, updated_at = now() WHERE id IN (
    SELECT bookmark.id FROM {bookmark} bookmark JOIN {collection} collection ON collection.id = collection_id
    WHERE collection.user_group_id <> bookmark.user_group_id
);

If it fails because of "bookmarks_url", the group has the bookmark already: delete one of the two. Then migrate again."""


def tables(apps, schema_editor):
    return {
        name: schema_editor.quote_name(apps.get_model(BOOKMARKS, name)._meta.db_table)
        for name in ('bookmark', 'collection')
    }


def validate(apps, schema_editor):
    if schema_editor.connection.vendor != 'postgresql':
        return
    names = tables(apps, schema_editor)
    try:
        schema_editor.execute(f'ALTER TABLE {names["bookmark"]} VALIDATE CONSTRAINT {CONSTRAINT}')
    except IntegrityError as error:
        raise IntegrityError(WRONG_COLLECTIONS.format(**names)) from error
    for name in other_foreign_keys(apps, schema_editor):
        schema_editor.execute(f'ALTER TABLE {names["bookmark"]} DROP CONSTRAINT {name}')


def other_foreign_keys(apps, schema_editor):
    """Return the names of the foreign keys to collections except the new one.

    Django has created one, which does not name the user group. On Citus, it names it already.
    """
    bookmark = apps.get_model(BOOKMARKS, 'bookmark')._meta.db_table
    collection = apps.get_model(BOOKMARKS, 'collection')._meta.db_table
    connection = schema_editor.connection
    with connection.cursor() as cursor:
        constraints = connection.introspection.get_constraints(cursor, bookmark)
    return [
        name
        for name, constraint in constraints.items()
        if constraint['foreign_key'] and constraint['foreign_key'][0] == collection and name != CONSTRAINT
    ]


def restore_foreign_key(apps, schema_editor):
    if schema_editor.connection.vendor != 'postgresql':
        return
    names = tables(apps, schema_editor)
    if not other_foreign_keys(apps, schema_editor):
        schema_editor.execute(
            f'ALTER TABLE {names["bookmark"]} ADD CONSTRAINT {FORMER_CONSTRAINT} FOREIGN KEY (collection_id)'
            f' REFERENCES {names["collection"]} (id) DEFERRABLE INITIALLY DEFERRED NOT VALID'
        )
    for name in other_foreign_keys(apps, schema_editor):
        schema_editor.execute(f'ALTER TABLE {names["bookmark"]} VALIDATE CONSTRAINT {name}')


class Migration(migrations.Migration):

    atomic = False

    dependencies = [
        (BOOKMARKS, '0003_bookmark_collection_of_group'),
    ]

    operations = [
        migrations.RunPython(validate, restore_foreign_key),
    ]
