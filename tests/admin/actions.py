"""What operators do in the admin, with Django's test client.

``model`` is a name such as "usergroups_apitoken".
"""

import html
import re
from collections import defaultdict

from django.contrib.admin.models import LogEntry
from django.contrib.auth import get_user_model
from django.contrib.auth.models import Permission
from django.contrib.sessions.models import Session
from django.urls import reverse

from bookmarks.models import AccessToken
from tests.bookmarks.factories import AccessTokenFactory
from tests.usergroups.factories import ApiTokenFactory, TeamFactory, UserGroupFactory
from usergroups.events import Event
from usergroups.models import ApiToken


def url(name, *args):
    return reverse(f"admin:{name}", args=args)


def open_confirmation(client, model, action, *objects, query="", **fields):
    """Choose an action for objects, or with select_across="1" for a whole
    list, and return the confirmation page.
    """
    selected = {
        "action": action,
        "_selected_action": [obj.pk for obj in objects],
        **fields,
    }
    return client.post(url(f"{model}_changelist") + query, selected, follow=True)


def open_confirmation_on_page(client, model, action, obj):
    """Press the button of an action on the page of an object and return the
    confirmation page.
    """
    return client.get(
        url(f"{model}_confirm"), {"action": action, "keys": obj.pk, "page": "1"}
    )


def confirm(client, page, **fields):
    """Submit the form of a confirmation page, with all rows checked unless
    ``confirmed`` has the keys of some.
    """
    # without the search form of the header
    form = page.content.decode().partition('<div id="content"')[2]
    data = defaultdict(list)
    for name, value in re.findall(
        r'<input type="(?:hidden|checkbox)" name="(\w+)" value="([^"]*)"', form
    ):
        data[name].append(value)
    address = page.context["address"]
    return client.post(address, {**data, **fields}, follow=True)


def act(client, model, action, *objects, query="", select_across="0", **fields):
    """Choose an action for objects of a list, confirm it, and return the page
    that follows.
    """
    page = open_confirmation(
        client,
        model,
        action,
        *objects,
        query=query,
        select_across=select_across,
        index="0",
    )
    return confirm(client, page, **fields)


def act_on_page(client, model, action, obj, **fields):
    """Press the button of an action on the page of an object, confirm it, and
    return the page that follows.
    """
    page = open_confirmation_on_page(client, model, action, obj)
    return confirm(client, page, **fields)


def issue(client, model, **fields):
    """Submit the form of a new token and return the page with its secret."""
    return client.post(url(f"{model}_add"), fields, follow=True)


def secrets_on(page):
    return re.findall(r'<code id="secret\d*">(\w+)</code>', page.content.decode())


def log_in_with(client, *codenames):
    """Log in as an operator who has only these permissions. Return the client."""
    operator, _ = get_user_model().objects.get_or_create(
        username="operator", is_staff=True
    )
    operator.user_permissions.set(Permission.objects.filter(codename__in=codenames))
    client.force_login(operator)
    return client


def allow_only(client, model, *verbs):
    """Log in as an operator who has only these permissions for the model."""
    log_in_with(client, *(f"{verb}_{model.partition('_')[2]}" for verb in verbs))


def form_at(client, address):
    """Return the data that the form at an address has when it is opened."""
    # The form of a team or user group is behind the button Edit.
    separator = "&" if "?" in address else "?"
    page = client.get(f"{address}{separator}edit=1")
    form = page.context["adminform"].form
    data = {
        name: field.prepare_value(form[name].value())
        for name, field in form.fields.items()
    }
    initial = re.findall(
        r'<input type="hidden" name="(initial-\w+)" value="([^"]*)"',
        page.content.decode(),
    )
    for name, value in initial:
        data[name] = html.unescape(value)
    return data


def shown_form(client, user_group):
    """Return the data that the form of a user group has when it is opened."""
    address = url("usergroups_usergroup_change", user_group.pk)
    return form_at(client, address)


def save(client, user_group, follow=False, **changes):
    return client.post(
        url("usergroups_usergroup_change", user_group.pk),
        {**shown_form(client, user_group), **changes},
        follow=follow,
    )


TOKEN_FACTORIES = {
    "usergroups_apitoken": ApiTokenFactory,
    "bookmarks_accesstoken": AccessTokenFactory,
}

TOKEN_FORMS = {
    "usergroups_apitoken": (
        ApiToken,
        lambda: {"team": TeamFactory().pk, "environment": "Testing"},
    ),
    "bookmarks_accesstoken": (
        AccessToken,
        lambda: {"user_group": UserGroupFactory().pk},
    ),
}
"""By token model: its class, and a function that creates an owner and returns
the fields of the form that name it.
"""


def listed(client, model="usergroups_apitoken", **query):
    """Return the objects in the list of the model with this query."""
    return set(client.get(url(f"{model}_changelist"), query).context["cl"].queryset)


def shown_and_stored(client, model, *tokens, caplog):
    """Return, as texts, what the admin shows, stores and logs about the tokens
    after the page with their secrets.
    """
    return [
        client.get(url("index")).content.decode(),
        client.get(url(f"{model}_changelist")).content.decode(),
        *(
            client.get(url(f"{model}_{page}", token.pk), follow=True).content.decode()
            for page in ("change", "history")
            for token in tokens
        ),
        str(list(LogEntry.objects.values())),
        str(list(Event.objects.values())),
        str([session.get_decoded() for session in Session.objects.all()]),
        str(client.cookies),
        caplog.text,
    ]
