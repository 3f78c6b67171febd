import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('bookmarks', '0002_updated_at'),
        ('usergroups', '0001_initial'),
    ]

    operations = [
        migrations.AlterField(
            model_name='accesstoken',
            name='user_group',
            field=models.ForeignKey(db_index=False, help_text='The token gives access to the bookmarks and collections of this user group only.', on_delete=django.db.models.deletion.CASCADE, related_name='access_tokens', to='usergroups.usergroup'),
        ),
        migrations.AddIndex(
            model_name='accesstoken',
            index=models.Index(fields=['user_group', 'created_at', 'digest'], name='bookmarks_tokens_by_group'),
        ),
    ]
