import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('bookmarks', '0006_remove_indexes'),
    ]

    operations = [
        migrations.AddField(
            model_name='accesstoken',
            name='last_used_address',
            field=models.CharField(db_default='', default='', editable=False, help_text="The client's address. For IPv6, the first address of its /64 network.", max_length=39, verbose_name='last used from'),
        ),
        migrations.AddField(
            model_name='accesstoken',
            name='last_used_agent',
            field=models.CharField(db_default='', default='', editable=False, help_text='What the client calls itself: its User-Agent header.', max_length=255, verbose_name='last used by'),
        ),
        # The next migration adds the index.
        migrations.AddField(
            model_name='accesstoken',
            name='predecessor',
            field=models.ForeignKey(db_constraint=False, db_index=False, editable=False, null=True, on_delete=django.db.models.deletion.DO_NOTHING, related_name='+', to='bookmarks.accesstoken', verbose_name='predecessor'),
        ),
    ]
