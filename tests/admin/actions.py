"""What an operator does on a list, over Django's handlers."""

import re

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
