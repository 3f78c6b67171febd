"""What the page of an owner, such as a user group, says about its tokens."""

from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from typing import Any

from django.contrib.humanize.templatetags.humanize import intcomma
from django.utils.formats import date_format
from django.utils.html import format_html, format_html_join
from django.utils.timezone import localdate
from django.utils.translation import gettext, ngettext

from usergroups.admin_tools.cells import relative_time

from .admin_states import refusals_sentence
from .models import Token, TokenQuerySet

MAX_TOKENS = 1_000
"""The number of tokens that are summarized, of which the newest come first."""

MAX_REFUSED = 3
"""The number of tokens with refused calls that are named."""


def summarize(rows: TokenQuerySet[Any], link_to: Callable[[Token], str]) -> str:
    """Return how many tokens of an owner are active, expired and revoked, when
    one was last used, and with which ones calls were refused.

    ``link_to`` returns a link to the page of a token. There is one query.
    """
    tokens = list(rows.order_by("-created_at")[: MAX_TOKENS + 1])
    if not tokens:
        return ""
    sentences = []
    if len(tokens) > MAX_TOKENS:
        tokens.pop()
        text = gettext("Of the newest {number}:")
        sentences.append(format_html(text, number=intcomma(MAX_TOKENS)))
    counts = ", ".join(counts_by_state(tokens))
    sentences.append(format_html("{}; {}.", counts, last_use(tokens)))
    refused = [token for token in tokens if token.last_refused_at is not None]
    refused.sort(key=lambda token: token.last_refused_at, reverse=True)
    for token in refused[:MAX_REFUSED]:
        refusals = refusals_sentence(token)
        sentences.append(format_html("{}: {}", link_to(token), refusals))
    return format_html_join(" ", "{}", [[sentence] for sentence in sentences])


def counts_by_state(tokens: Sequence[Token]) -> list[str]:
    """Return texts such as "3 active" and "1 expired yesterday"."""
    expired = []
    revoked = []
    active = 0
    for token in tokens:
        if token.is_active:
            active += 1
        elif token.revoked_at is not None:
            revoked.append(token)
        else:
            expired.append(token)
    text = gettext("{number} active")
    texts = [text.format(number=intcomma(active))]
    if expired:
        texts.append(expired_text(expired))
    if revoked:
        texts.append(revoked_text(revoked))
    return texts


def expired_text(tokens: Sequence[Any]) -> str:
    """Return how many tokens have expired, and when the last one did."""
    number = len(tokens)
    last = max(token.expires_at for token in tokens)
    text = ngettext(
        "{number} expired {day}", "{number} expired, the last {day}", number
    )
    return text.format(number=intcomma(number), day=day_of(last))


def revoked_text(tokens: Sequence[Any]) -> str:
    """Return how many tokens are revoked, and when and by whom the last one
    was.
    """
    number = len(tokens)
    last = max(tokens, key=lambda token: token.revoked_at)
    day = day_of(last.revoked_at)
    operator = last.revoked_by
    text = ngettext(
        "{number} revoked {day}", "{number} revoked, the last {day}", number
    )
    if operator:
        text = ngettext(
            "{number} revoked by {operator} {day}",
            "{number} revoked, the last by {operator} {day}",
            number,
        )
    return text.format(number=intcomma(number), operator=operator, day=day)


def last_use(tokens: Sequence[Any]) -> str:
    """Return when and from where one of the tokens was last used."""
    used = [token for token in tokens if token.last_used_at is not None]
    if not used:
        return gettext("never used")
    last = max(used, key=lambda token: token.last_used_at)
    time = relative_time(last.last_used_at)
    if not last.last_used_address:
        return format_html(gettext("last used {time}"), time=time)
    text = gettext("last used {time} from {address}")
    return format_html(text, time=time, address=last.last_used_address)


def day_of(at: datetime) -> str:
    """Return "today", "yesterday" or the date."""
    day = localdate(at)
    today = localdate()
    if day == today:
        return gettext("today")
    if day == today - timedelta(days=1):
        return gettext("yesterday")
    return date_format(day)
