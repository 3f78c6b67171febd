"""Credentials of all operations: which are refused, with what answer, and what
a read-only token may do.

The fixture ``any_operation`` or ``operation`` (one with a body) calls an
operation with a valid token, unless the argument ``HTTP_AUTHORIZATION`` replaces
the header, or removes it with None. A test runs for each operation, or for those
that it names in ``parametrize``.
"""

from datetime import timedelta

import pytest
from django.utils import timezone

from tests.answers import detail, error_code
from tests.operations import (
    ONE_OF_EACH_SCHEME,
    READS,
    WRITES,
    WRITES_WITH_A_BODY,
)
from tests.queries import queries_of
from usergroups.tokens import secret_format


@pytest.mark.database_independent
def test_missing_credentials_are_answered_with_the_required_scheme(any_operation):
    response = any_operation(HTTP_AUTHORIZATION=None)

    assert error_code(response, 401) == "not_authenticated"
    assert response["WWW-Authenticate"] == f'{any_operation.scheme} realm="api"'


USAGE = {
    "Token": "This path takes `Authorization: Token <API_TOKEN>`.",
    "Bearer": "This path takes `Authorization: Bearer <ACCESS_TOKEN>`.",
}


@pytest.mark.database_independent
@pytest.mark.parametrize(
    "header",
    [
        pytest.param("Basic dXNlcjpwYXNz", id="another scheme"),
        pytest.param("{other} {secret}", id="the scheme of the other operations"),
        pytest.param("{secret}", id="no scheme"),
    ],
)
@pytest.mark.parametrize("any_operation", ONE_OF_EACH_SCHEME, indirect=True)
def test_another_scheme_is_answered_with_the_required_one(any_operation, header):
    other = {"Token": "Bearer", "Bearer": "Token"}[any_operation.scheme]
    sent = header.format(other=other, secret=any_operation.token.secret)

    response = any_operation(HTTP_AUTHORIZATION=sent)

    assert (error_code(response, 401), detail(response)) == (
        "wrong_scheme",
        USAGE[any_operation.scheme],
    )
    assert response["WWW-Authenticate"] == f'{any_operation.scheme} realm="api"'


@pytest.mark.database_independent
@pytest.mark.parametrize(
    "prefix",
    ["uga", "bma", "ugt"],
    ids=["API token", "access token", "user group token"],
)
@pytest.mark.parametrize("any_operation", ONE_OF_EACH_SCHEME, indirect=True)
def test_the_answer_to_an_unknown_token_depends_on_its_kind(any_operation, prefix):
    secret = secret_format.generate(prefix)

    response = any_operation(HTTP_AUTHORIZATION=f"{any_operation.scheme} {secret}")

    # the kind that the operation takes
    if prefix == {"Token": "uga", "Bearer": "bma"}[any_operation.scheme]:
        expected = (
            "authentication_failed",
            "The token is unknown, expired or revoked.",
        )
    else:
        expected = (
            "wrong_token_kind",
            f"The token is of another kind. {USAGE[any_operation.scheme]}",
        )
    assert (error_code(response, 401), detail(response)) == expected
    assert secret not in response.content.decode()


def mistyped(secret):
    """Replace the last character by another one."""
    other = "a"
    if secret.endswith("a"):
        other = "b"
    return secret[:-1] + other


@pytest.mark.database_independent
@pytest.mark.parametrize(
    "header",
    [
        pytest.param(lambda scheme, secret: "", id="empty"),
        pytest.param(lambda scheme, secret: scheme, id="no token"),
        pytest.param(
            lambda scheme, secret: f"{scheme} {secret} {secret}", id="two tokens"
        ),
        pytest.param(
            lambda scheme, secret: f"{scheme} {secret},{scheme} {secret}",
            id="two headers, joined",
        ),
        pytest.param(lambda scheme, secret: f"{scheme} \xff\xfe", id="not UTF-8"),
        pytest.param(lambda scheme, secret: f"{scheme} x", id="malformed"),
        pytest.param(
            lambda scheme, secret: f"{scheme} {mistyped(secret)}", id="mistyped"
        ),
        pytest.param(
            lambda scheme, secret: f"{scheme} {secret_format.generate(secret[:3])}",
            id="unknown, right kind",
        ),
    ],
)
@pytest.mark.parametrize("any_operation", ONE_OF_EACH_SCHEME, indirect=True)
def test_invalid_credentials_are_refused(any_operation, header):
    sent = header(any_operation.scheme, any_operation.token.secret)

    response = any_operation(HTTP_AUTHORIZATION=sent)

    assert error_code(response, 401) == "authentication_failed"
    challenge = f'{any_operation.scheme} realm="api"'
    # RFC 6750: only a request with a bearer token gets an error code. Without
    # a space, there is no token.
    if any_operation.scheme == "Bearer" and " " in sent:
        challenge += ', error="invalid_token"'
    assert response["WWW-Authenticate"] == challenge


@pytest.mark.parametrize("time_field", ["expires_at", "revoked_at"])
@pytest.mark.parametrize("any_operation", ONE_OF_EACH_SCHEME, indirect=True)
def test_the_refusal_of_a_known_token_is_stored_once_a_minute(
    any_operation, time_field
):
    token = any_operation.token
    unknown = f"{any_operation.scheme} {secret_format.generate(token.prefix)}"
    type(token).objects.update(**{time_field: timezone.now() - timedelta(days=1)})
    answers = []

    def call(**headers):
        answers.append(any_operation(**headers))

    first, second = queries_of(call), queries_of(call)
    of_unknown = queries_of(lambda: call(HTTP_AUTHORIZATION=unknown))

    assert [sql.split()[0] for sql in first] == ["SELECT", "UPDATE"]
    assert [sql.split()[0] for sql in second] == ["SELECT"]
    assert [sql.split()[0] for sql in of_unknown] == ["SELECT"]
    token.refresh_from_db()
    assert token.refused_minutes == 1
    assert token.first_refused_at == token.last_refused_at
    # The answers do not tell an unknown token from a known one.
    assert {error_code(answer, 401) for answer in answers} == {"authentication_failed"}
    assert len({answer.content for answer in answers}) == 1


@pytest.mark.database_independent
@pytest.mark.parametrize("operation", ONE_OF_EACH_SCHEME, indirect=True)
def test_the_scheme_is_case_insensitive(operation, valid_body):
    header = f"{operation.scheme.upper()} {operation.token.secret}"

    assert operation(valid_body, HTTP_AUTHORIZATION=header).status_code in (200, 201)


@pytest.mark.database_independent
def test_authentication_comes_before_the_body(operation):
    invalid_body = b"\xff" * 2_000_000  # larger than is allowed

    response = operation(
        invalid_body, CONTENT_TYPE="text/plain", HTTP_AUTHORIZATION=None
    )

    assert error_code(response, 401) == "not_authenticated"


# 403: the rights of a token


@pytest.mark.database_independent
@pytest.mark.parametrize("any_operation", READS, indirect=True)
def test_a_read_only_token_may_read(any_operation, valid_body):
    type(any_operation.token).objects.update(read_only=True)

    assert any_operation(valid_body).status_code == 200


@pytest.mark.database_independent
@pytest.mark.parametrize("any_operation", WRITES, indirect=True)
def test_a_read_only_token_may_not_write(any_operation, valid_body):
    type(any_operation.token).objects.update(read_only=True)

    assert error_code(any_operation(valid_body), 403) == "insufficient_scope"


@pytest.mark.database_independent
@pytest.mark.parametrize("operation", WRITES_WITH_A_BODY, indirect=True)
def test_authorisation_comes_before_validation(operation):
    type(operation.token).objects.update(read_only=True)

    response = operation(b"{", CONTENT_TYPE="text/plain")

    assert error_code(response, 403) == "insufficient_scope"
