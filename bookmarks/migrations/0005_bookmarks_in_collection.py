from django.db import migrations, models

from usergroups.migration_operations import AddIndexConcurrently


class Migration(migrations.Migration):

    atomic = False

    dependencies = [
        ('bookmarks', '0004_verbose_names'),
        ('usergroups', '0001_initial'),
    ]

    operations = [
        AddIndexConcurrently(
            model_name='bookmark',
            index=models.Index(fields=['collection', 'user_group', 'created_at', 'id'], name='bookmarks_in_collection'),
        ),
    ]
