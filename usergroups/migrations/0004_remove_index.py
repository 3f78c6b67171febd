from django.db import migrations

# Django created the index together with the unique constraint. It supports LIKE, with which nothing searches for tokens.
INDEX = '"usergroups_usergroup_token_505c911c_like"'


def remove(apps, schema_editor):
    if schema_editor.connection.vendor == 'postgresql':
        schema_editor.execute(f'DROP INDEX CONCURRENTLY IF EXISTS {INDEX}')


def create(apps, schema_editor):
    remove(apps, schema_editor)  # An interrupted run may have left an invalid one.
    if schema_editor.connection.vendor == 'postgresql':
        columns = '"usergroups_usergroup" ("token" varchar_pattern_ops)'
        schema_editor.execute(f'CREATE INDEX CONCURRENTLY {INDEX} ON {columns}')


class Migration(migrations.Migration):

    atomic = False

    dependencies = [
        ('usergroups', '0003_team_name'),
    ]

    operations = [migrations.RunPython(remove, create)]
