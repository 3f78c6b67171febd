"""Give events the keys and changes of their rows, and the team.

The columns are added without rewriting the table. The index is built in a read of the table.
"""

import django.db.models.deletion
from django.apps import apps
from django.db import migrations, models

# The label, which a host project may change.
USERGROUPS = apps.get_containing_app_config('usergroups').label


class Migration(migrations.Migration):

    dependencies = [
        (USERGROUPS, '0004_token_successors'),
    ]

    operations = [
        migrations.AlterModelOptions(
            name='event',
            options={'default_permissions': (), 'verbose_name': 'event', 'verbose_name_plural': 'history'},
        ),
        migrations.AddField(
            model_name='event',
            name='changes',
            field=models.JSONField(null=True),
        ),
        migrations.AddField(
            model_name='event',
            name='keys',
            field=models.TextField(db_default='', default=''),
        ),
        migrations.AddField(
            model_name='event',
            name='team',
            field=models.ForeignKey(db_index=False, null=True, on_delete=django.db.models.deletion.DO_NOTHING, related_name='+', to=f'{USERGROUPS}.team', verbose_name='team'),
        ),
        migrations.AddField(
            model_name='event',
            name='whole',
            field=models.CharField(db_default='', default='', max_length=36),
        ),
        migrations.AlterField(
            model_name='event',
            name='kind',
            field=models.CharField(choices=[('added', 'Added'), ('changed', 'Changed'), ('merged', 'Merged'), ('imported', 'Imported'), ('exported', 'Exported'), ('rotated', 'Rotated'), ('revealed', 'Revealed'), ('revoked', 'Revoked'), ('deleted', 'Deleted')], max_length=10, verbose_name='kind'),
        ),
        migrations.AddIndex(
            model_name='event',
            index=models.Index(condition=models.Q(('team__isnull', False)), fields=['team', 'id'], name='usergroups_events_of_team'),
        ),
    ]
