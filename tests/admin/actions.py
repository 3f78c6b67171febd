"""What an operator does on a list, over Django's handlers."""

import html
import re

from django.contrib.auth.models import Permission, User
from django.urls import reverse


def url(name, *args):
    return reverse(f"admin:{name}", args=args)


def ask(client, model, action, *objects, query="", **fields):
    """Choose an action for the selected rows and return the page that asks whether it is meant."""
    selected = {"action": action, "_selected_action": [obj.pk for obj in objects], **fields}
    return client.post(url(f"{model}_changelist") + query, selected)


def confirm(client, page, model, query="", **fields):
    """Answer such a page as its form would."""
    form = page.content.decode().partition('<div id="content"')[2]
    hidden = dict(re.findall(r'<input type="hidden" name="(\w+)" value="([^"]*)">', form))
    return client.post(url(f"{model}_changelist") + query, {**hidden, **fields}, follow=True)


def act(client, model, action, *objects, **fields):
    page = ask(client, model, action, *objects)
    return confirm(client, page, model, **fields)


def allow(client, model, *verbs):
    """Log the client in as an operator who may do this to the model and nothing else."""
    operator, _ = User.objects.get_or_create(username="operator", is_staff=True)
    app_label, name = model.split("_")
    permissions = Permission.objects.filter(content_type__app_label=app_label)
    operator.user_permissions.set([each for each in permissions if each.codename in {f"{v}_{name}" for v in verbs}])
    client.force_login(operator)


def shown_form(client, user_group):
    """Return what the form of the user group's page would send if nothing were changed."""
    page = client.get(url("usergroups_usergroup_change", user_group.pk))
    form = page.context["adminform"].form
    initial = re.findall(r'<input type="hidden" name="(initial-\w+)" value="([^"]*)"', page.content.decode())
    return {
        **{name: form.fields[name].prepare_value(form[name].value()) for name in form.fields},
        **{name: html.unescape(value) for name, value in initial},
    }


def save(client, user_group, **changes):
    return client.post(url("usergroups_usergroup_change", user_group.pk), {**shown_form(client, user_group), **changes})
