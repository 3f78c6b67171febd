import django.db.models.deletion
from django.db import migrations, models

from usergroups.migration_operations import AddIndexConcurrently

OLD_INDEX = '"bookmarks_accesstoken_user_group_id_c7c511ef"'


def drop_old_index(apps, schema_editor):
    schema_editor.execute(f'DROP INDEX {concurrently(schema_editor)} IF EXISTS {OLD_INDEX}')


def create_old_index(apps, schema_editor):
    drop_old_index(apps, schema_editor)  # An interrupted run may have left an invalid one.
    table = '"bookmarks_accesstoken" ("user_group_id")'
    schema_editor.execute(f'CREATE INDEX {concurrently(schema_editor)} {OLD_INDEX} ON {table}')


def concurrently(schema_editor):
    return 'CONCURRENTLY' if schema_editor.connection.vendor == 'postgresql' else ''


class Migration(migrations.Migration):

    atomic = False

    dependencies = [
        ('bookmarks', '0002_updated_at'),
        ('usergroups', '0001_initial'),
    ]

    operations = [
        AddIndexConcurrently(
            model_name='accesstoken',
            index=models.Index(fields=['user_group', 'created_at', 'digest'], name='bookmarks_tokens_by_group'),
        ),
        # AlterField itself would also create the foreign key again. PostgreSQL would then validate it for all tokens,
        # and meanwhile block every call, because calls read tokens and user groups.
        migrations.SeparateDatabaseAndState(
            database_operations=[migrations.RunPython(drop_old_index, create_old_index)],
            state_operations=[
                migrations.AlterField(
                    model_name='accesstoken',
                    name='user_group',
                    field=models.ForeignKey(db_index=False, help_text='The token gives access to the bookmarks and collections of this user group only.', on_delete=django.db.models.deletion.CASCADE, related_name='access_tokens', to='usergroups.usergroup'),
                ),
            ],
        ),
    ]
