from django.db import migrations


class Migration(migrations.Migration):

    dependencies = [
        ('usergroups', '0006_index_predecessors'),
    ]

    operations = [
        migrations.AlterModelOptions(
            name='usergroup',
            options={
                'permissions': [('reveal_usergroup_token', 'Can reveal user group token')],
                'verbose_name': 'user group',
                'verbose_name_plural': 'user groups',
            },
        ),
    ]
