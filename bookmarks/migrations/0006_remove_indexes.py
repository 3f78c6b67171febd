from django.db import migrations

from usergroups.migration_operations import RemoveIndexConcurrently


class Migration(migrations.Migration):

    atomic = False

    dependencies = [
        ('bookmarks', '0005_bookmarks_in_collection'),
        ('usergroups', '0001_initial'),
    ]

    operations = [
        RemoveIndexConcurrently(model_name='bookmark', name='bookmarks_by_collection'),
        RemoveIndexConcurrently(model_name='bookmark', name='bookmarks_by_creation'),
    ]
