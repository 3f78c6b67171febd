"""Bring the entries of Django's history over to events.

Each batch is a transaction. After an interruption, the migration can be run again. The entries are
not changed, so that the previous version can still show them.
"""

import json
from collections import defaultdict

from django.apps import apps as installed
from django.core.exceptions import ValidationError
from django.db import migrations, transaction
from uuid_utils.compat import uuid7

# The label, which a host project may change.
USERGROUPS = installed.get_containing_app_config('usergroups').label

BATCH = 500

ADDITION, DELETION = 1, 3  # Django's flags

KINDS = {
    'Revoked.': 'revoked',
    'Rotated.': 'rotated',
    'Rotated. Successor': 'rotated',
    'Rotated the user group token.': 'rotated',
    'Revealed the user group token.': 'revealed',
    'Merged other collections into this one': 'merged',
}
"""The kind of the event by what the message says before a colon."""


def bring_over(apps, schema_editor):
    connection = schema_editor.connection
    events = apps.get_model(USERGROUPS, 'Event')._base_manager.using(connection.alias)
    mend_deletions(events)
    if not installed.is_installed('django.contrib.admin'):
        return
    log = installed.get_model('admin', 'LogEntry')
    # In a new database, its migrations may come later.
    if log._meta.db_table not in connection.introspection.table_names():
        return
    by_entry = defaultdict(list)
    for event in events.exclude(entry=None).iterator():
        by_entry[event.entry].append(event)
    entries = log._base_manager.using(connection.alias).exclude(content_type=None)
    entries = entries.select_related('content_type', 'user').order_by('pk')
    last = 0
    while batch := list(entries.filter(pk__gt=last)[:BATCH]):
        new, changed = [], []
        owners = owners_of(batch, connection.alias)
        for entry in batch:
            make_events(entry, by_entry[entry.pk], owners, events.model, new, changed)
        with transaction.atomic(using=connection.alias):
            events.bulk_create(new)
            events.bulk_update(changed, ['kind', 'keys', 'counts', 'changes', 'text', 'whole'])
        last = batch[-1].pk


def mend_deletions(events):
    """Give the deletions of user groups and teams their keys, which were in the text, if all fitted."""
    deletions = events.filter(kind='deleted', user_group=None, entry=None, keys='').exclude(text='')
    while batch := list(deletions[:BATCH]):
        for event in batch:
            event.keys = keys_text(event.text.split(', '))
            event.text = ''
        events.bulk_update(batch, ['keys', 'text'])


def keys_text(keys):
    lines = '\n'.join(keys)
    return f'\n{lines}\n'


def parts_of(entry):
    """Return the parts of a message in JSON, or an empty list if it is plain text."""
    try:
        parts = json.loads(entry.change_message)
    except ValueError:
        return []
    if not isinstance(parts, list) or not all(isinstance(part, dict) for part in parts):
        return []
    return parts


def summary_of(entry):
    """Return what a message says of the rows of an action, which has their keys."""
    for part in parts_of(entry):
        if isinstance(part.get('rows'), dict):
            return part['rows']
    return {}


def keys_of(entry):
    if entry.object_id is not None:
        return [entry.object_id]
    return summary_of(entry).get('keys', [])


def owner_field(model):
    """Return the field of an event for the owners of rows of a model, and the name of that of the rows."""
    for name, owner in [('user_group_id', 'UserGroup'), ('team_id', 'Team')]:
        owner = installed.get_model(USERGROUPS, owner)
        if issubclass(model, owner):
            return name, 'pk'
        for field in model._meta.concrete_fields:
            if field.related_model is owner:
                return name, field.attname
    return None, None


def owners_of(batch, using):
    """Return the field of an event and its value for the owners of existing rows, by model and key."""
    by_model = defaultdict(set)
    for entry in batch:
        model = entry.content_type.model_class()
        if model is not None:
            by_model[model].update(keys_of(entry))
    owners = {}
    for model, keys in by_model.items():
        name, field = owner_field(model)
        if name is None:
            continue
        valid = []
        for key in keys:
            try:
                valid.append(model._meta.pk.to_python(key))
            except ValidationError:
                continue
        rows = model._base_manager.using(using).order_by()
        for start in range(0, len(valid), BATCH):
            some = rows.filter(pk__in=valid[start : start + BATCH])
            for key, owner in some.values_list('pk', field):
                if owner is not None:
                    owners[model, str(key)] = (name, owner)
    return owners


def changes_of(entry):
    """Return the changed fields with their values, or those without any by their labels."""
    changes = {}
    for part in parts_of(entry):
        changed = part.get('changed')
        if not isinstance(changed, dict):
            continue
        values = changed.get('values')
        if values is None:
            changes |= dict.fromkeys(changed.get('fields', []))
            continue
        for name, pair in values.items():
            changes[name] = None if pair == [None, None] else list(map(kept_value, pair))
    return changes or None


def kept_value(value):
    """Return a value without the key of a row, which its name stands beside."""
    if isinstance(value, dict) and value.keys() == {'key', 'text'}:
        return value['text']
    return value


def make_events(entry, existing, owners, event_model, new, changed):
    """Add the events of an entry to ``new``, and those that it has already to ``changed``."""
    model = entry.content_type.model_class()
    label = f'{entry.content_type.app_label}.{entry.content_type.model}'
    if model is None or any(event.keys for event in existing):
        return
    is_owner = model in (installed.get_model(USERGROUPS, name) for name in ('UserGroup', 'Team'))
    # These deletions have events, without entries.
    if entry.action_flag == DELETION and is_owner:
        return
    summary = summary_of(entry)
    message = summary.get('text', '') if summary else entry.change_message
    kind = KINDS.get(message.partition(': ')[0], 'changed')
    if entry.action_flag == ADDITION:
        kind = 'added'
    if entry.action_flag == DELETION:
        kind = 'deleted'
    values = {'at': entry.action_time, 'actor': entry.user.get_username()[:255], 'model': label, 'entry': entry.pk}
    keys = keys_of(entry)
    owned = defaultdict(list)
    for key in keys:
        owned[owners.get((model, key))].append(key)
    shares = {('user_group_id', event.user_group_id): event for event in existing}
    if not shares:
        for owner in owned:
            shares[owner] = event_model(id=key_at(entry), **values, **dict([owner] if owner else []))
            new.append(shares[owner])
    else:
        changed += shares.values()
    whole = None
    number = summary.get('number', 1)
    # Events of other owners may have been deleted with them.
    if len(shares) > 1 or any(event.counts.get(label, number) != number for event in existing):
        whole = event_model(id=key_at(entry), kind=kind, counts={label: number}, **values)
        new.append(whole)
    has_owner = owner_field(model)[0] is not None
    for owner, event in shares.items():
        own = owned[owner] if whole else keys
        event.kind = kind
        event.keys = keys_text(own)
        event.whole = str(whole.pk) if whole else ''
        counts = {} if whole else summary.get('counts') or {}
        own_number = len(own) if whole else number
        event.counts = {name.lower(): count for name, count in counts.items()} or event.counts or {label: own_number}
        # The values of a row that was deleted may be those of an owner that was deleted as well.
        if owner is not None or not has_owner:
            event.changes = changes_of(entry)
            event.text = entry.object_repr[:255]


def key_at(entry):
    """Return a new key with the time of the entry."""
    return uuid7(nanoseconds=int(entry.action_time.timestamp() * 1_000_000_000))


class Migration(migrations.Migration):

    atomic = False

    dependencies = [
        (USERGROUPS, '0005_one_history'),
    ]

    operations = [
        migrations.RunPython(bring_over, migrations.RunPython.noop),
    ]
