"""Check the shape of error responses, and represent objects as responses do."""

from datetime import UTC

CLIENT_ERRORS_WITH_STATUS_400 = {
    "parse_error",
    "bad_request",
    "too_many_values",
    "unreadable_file",
}


def errors(response, status=400):
    """Check that a response is an error of this status, and return the field
    and the code of each of its errors.

    Takes the responses of Django's test client and of httpx.
    """
    assert response.status_code == status
    assert response.headers["Content-Type"] == "application/json"
    assert response.headers["Cache-Control"] == "no-store"
    body = response.json()
    expected = {"success", "type", "errors"}
    if body["errors"][0]["code"] == "unreadable_file":
        expected.add("report")
    assert body.keys() == expected
    assert body["success"] == 0
    assert type(body["success"]) is int  # not False
    assert body["type"] == error_type(status, body["errors"])
    for error in body["errors"]:
        expected = {"code", "detail", "attr"}
        if error["code"] == "already_exists":
            expected.add("existing")
        assert error.keys() == expected
        assert error["detail"]
    return [(error["attr"], error["code"]) for error in body["errors"]]


def error_type(status, listed_errors):
    """Return the ``type`` that a response with these errors must have."""
    if status >= 500:
        return "server_error"
    codes = {error["code"] for error in listed_errors}
    if status == 400 and not codes & CLIENT_ERRORS_WITH_STATUS_400:
        return "validation_error"
    return "client_error"


def error_code(response, status):
    """Check that a response is a single error of this status, and return its
    code.
    """
    [(_, code)] = errors(response, status)
    return code


def statuses(response):
    """Check that a batch was answered, and return the status of each item."""
    assert response.status_code == 200
    assert response.json()["success"] == 1
    return [result["status"] for result in response.json()["results"]]


def changes(response):
    """Return whether each item of a batch changed something."""
    return [result["changed"] for result in response.json()["results"]]


def detail(response):
    """Return the text of the first error in a response."""
    return response.json()["errors"][0]["detail"]


def user_group_json(user_group):
    return {
        "team_id": user_group.team_id,
        "token": user_group.token,
        "name": user_group.name,
        "provided_id": user_group.provided_id,
        "properties": user_group.properties,
        "api_environment_tag": user_group.environment or None,
    }


def user_group_detail_json(user_group):
    return {
        **user_group_json(user_group),
        "mapping": user_group.mapping,
        "created_at": time_json(user_group.created_at),
        "updated_at": time_json(user_group.updated_at),
    }


def bookmark_json(bookmark):
    return {
        "id": str(bookmark.pk),
        "url": bookmark.url,
        "title": bookmark.title,
        "tags": bookmark.tags,
        "note": bookmark.note,
        "collection": bookmark.collection_id and str(bookmark.collection_id),
        "created_at": time_json(bookmark.created_at),
        "updated_at": time_json(bookmark.updated_at),
    }


def collection_json(collection):
    return {
        "id": str(collection.pk),
        "name": collection.name,
        "created_at": time_json(collection.created_at),
        "updated_at": time_json(collection.updated_at),
    }


def listed(shown, row):
    """Return what a list shows of an object: the same as a call, and its ETag."""
    return {**shown, "etag": etag_of(row.updated_at)}


def time_json(moment):
    text = moment.astimezone(UTC).isoformat(timespec="microseconds")
    return text.replace("+00:00", "Z")


def etag_of(moment):
    """Return the ETag of an object that was changed at this time: the
    microseconds since 1970, in hexadecimal.
    """
    return f'"{round(moment.timestamp() * 1_000_000):x}"'
