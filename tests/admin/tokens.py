"""What the tests of tokens in the admin share."""

from django.contrib.admin.models import LogEntry
from django.contrib.sessions.models import Session

from bookmarks.models import AccessToken
from tests.admin.actions import url
from tests.bookmarks.factories import AccessTokenFactory
from tests.usergroups.factories import ApiTokenFactory, TeamFactory, UserGroupFactory
from usergroups.models import ApiToken

FACTORIES = {"usergroups_apitoken": ApiTokenFactory, "bookmarks_accesstoken": AccessTokenFactory}

ISSUE = {
    "usergroups_apitoken": (ApiToken, lambda: {"team": TeamFactory().pk, "environment": "Testing"}),
    "bookmarks_accesstoken": (AccessToken, lambda: {"user_group": UserGroupFactory().pk}),
}
"""The model of each kind, and a function that returns the fields of its form that name a new owner."""


def listed(client, model="usergroups_apitoken", **query):
    return set(client.get(url(f"{model}_changelist"), query).context["cl"].queryset)


def shown_and_stored(client, model, *tokens, caplog):
    """Return everything that the admin shows and stores after the page with the secret."""
    return [
        client.get(url("index")).content.decode(),
        client.get(url(f"{model}_changelist")).content.decode(),
        *(client.get(url(f"{model}_{page}", token.pk), follow=True).content.decode()
          for page in ("change", "history") for token in tokens),
        str(list(LogEntry.objects.values())),
        str([session.get_decoded() for session in Session.objects.all()]),
        str(client.cookies),
        caplog.text,
    ]  # fmt: skip
