import django.db.models.deletion
from django.db import migrations, models

from usergroups.migration_operations import AddIndexConcurrently


class Migration(migrations.Migration):

    atomic = False

    dependencies = [
        ('usergroups', '0005_last_client_and_predecessor'),
    ]

    operations = [
        # AlterField itself would create the index in a transaction that blocks writes. The index has the same name.
        migrations.SeparateDatabaseAndState(
            database_operations=[
                AddIndexConcurrently(
                    model_name='apitoken',
                    index=models.Index(fields=['predecessor'], name='usergroups_apitoken_predecessor_id_1f05fbe6'),
                ),
            ],
            state_operations=[
                migrations.AlterField(
                    model_name='apitoken',
                    name='predecessor',
                    field=models.ForeignKey(db_constraint=False, editable=False, null=True, on_delete=django.db.models.deletion.DO_NOTHING, related_name='+', to='usergroups.apitoken', verbose_name='predecessor'),
                ),
            ],
        ),
    ]
