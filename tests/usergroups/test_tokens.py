"""The model of tokens and the format of secrets."""

import re
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.queries import queries_of
from tests.usergroups.factories import ApiTokenFactory, TeamFactory
from usergroups.models import ApiToken
from usergroups.tokens import secret_format


def test_a_token_has_a_prefix_190_random_bits_and_a_checksum():
    tokens = {secret_format.generate("abc") for _ in range(1000)}

    assert len(tokens) == 1000
    assert all(re.fullmatch("abc_[0-9A-Za-z]{38}", token) for token in tokens)
    assert all(secret_format.is_well_formed(token, "abc") for token in tokens)
    assert 62**secret_format.RANDOM_LENGTH > 2**190


def test_the_checksum_is_the_crc_32_in_base62():
    # The CRC-32 of it is 117736564 = 7 * 62**4 + 60 * 62**3 + 0 * 62**2 + 40 * 62 + 52: the digits 0 7 y 0 e q.
    assert secret_format.is_well_formed("abc_" + "0" * 32 + "07y0eq", "abc")


TOKEN = secret_format.generate("abc")


@given(data=st.data())
def test_the_checksum_detects_a_mistyped_character(data):
    position = data.draw(st.integers(0, len(TOKEN) - 1))
    character = data.draw(st.sampled_from(secret_format.ALPHABET + "_ é").filter(lambda c: c != TOKEN[position]))

    assert not secret_format.is_well_formed(TOKEN[:position] + character + TOKEN[position + 1 :], "abc")


@pytest.mark.parametrize(
    "change", [lambda t: t[:-1], lambda t: t + "0", lambda t: t + "\n", lambda t: "", lambda t: "_"]
)
def test_a_token_of_another_length_is_malformed(change):
    assert not secret_format.is_well_formed(change(secret_format.generate("abc")), "abc")


@pytest.mark.django_db
def test_only_a_digest_is_stored_and_nothing_shows_the_secret():
    token, secret = ApiToken.objects.issue(team=TeamFactory(), name="CI")

    stored = ApiToken.objects.filter(pk=token.pk).values().get()
    assert len(bytes(stored["digest"])) == 32
    assert secret.startswith(stored["hint"])
    assert len(secret) - len(stored["hint"]) == 34
    assert secret not in str(stored)
    assert secret not in f"{token} {token!r} {vars(token)}"


@pytest.mark.django_db
def test_a_token_is_found_with_its_owner_in_one_query():
    token = ApiTokenFactory()

    assert len(queries_of(lambda: ApiToken.objects.authenticate(token.secret).team.name)) == 1


@pytest.mark.django_db
@pytest.mark.parametrize("trait", ["revoked", "expired"])
def test_a_revoked_or_expired_token_is_not_found(trait):
    token = ApiTokenFactory(**{trait: True})

    assert ApiToken.objects.authenticate(token.secret) is None
    assert not token.is_active


@pytest.mark.django_db
def test_revoking_a_token_again_keeps_the_first_time():
    token = ApiTokenFactory()

    token.revoke()
    revoked_at = token.revoked_at
    token.revoke()

    assert ApiToken.objects.authenticate(token.secret) is None
    assert ApiToken.objects.get().revoked_at == revoked_at


@pytest.mark.django_db
def test_the_last_use_is_written_at_most_once_a_minute():
    token = ApiTokenFactory()

    assert len(queries_of(token.mark_used)) == 1
    token.refresh_from_db()
    assert queries_of(token.mark_used) == []

    token.last_used_at -= timedelta(minutes=1)
    token.save()
    assert len(queries_of(token.mark_used)) == 1


@pytest.mark.django_db
def test_a_successor_inherits_no_use():
    token = ApiTokenFactory(recently_used=True, last_used_address="192.0.2.1", last_used_agent="curl")

    successor, _ = token.rotate(timedelta(hours=1))

    token.refresh_from_db()
    assert (successor.last_used_at, successor.last_used_address, successor.last_used_agent) == (None, "", "")
