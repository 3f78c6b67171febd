"""Check the fields of a JSON object before a serializer validates them.

BaseAPIView checks each body, and BatchField each item of a batch.
"""

from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

from rest_framework.exceptions import ErrorDetail, ParseError, ValidationError
from rest_framework.serializers import Serializer

from .envelopes import represent_the_same
from .errors import MAX_PROBLEMS
from .parsers import NOT_AN_OBJECT
from .requests import FIELD, check_names
from .strict_json import UncheckedObject, Unstorable, check_storable


def check_fields(data: Mapping[str, object], serializer: Serializer[Any]) -> None:
    """Raise ValidationError for fields with values that cannot be stored, or
    else for fields that the serializer does not know, because a misspelt one
    must not be lost.
    """
    # A parser of the host may return anything.
    if not isinstance(data, dict):
        raise ParseError(NOT_AN_OBJECT)
    if isinstance(data, UncheckedObject):
        problems = _unstorable_fields(data, serializer)
        if problems:
            raise ValidationError(problems)
    view = serializer.context.get("view")
    represented = view.get_serializer_class() if view is not None else None
    check_names(data, known_fields(type(serializer), represented), FIELD)


@cache
def known_fields(
    serializer: type[Serializer[Any]], represented: type[Serializer[Any]] | None = None
) -> Mapping[str, object]:
    """Return the fields that a body of this class may have, by name.

    The attribute ``answer`` of the class is the serializer of answers about
    the same object, if what was read can be sent back. Those of its fields
    that the class lacks are ignored, and so are those of ``represented``, the
    serializer of the view, if it is for the same object.
    """
    fields = {**serializer().fields}
    answer: type[Serializer[Any]] | None = getattr(serializer, "answer", None)
    if answer is not None:
        fields = {**answer().fields, **fields}
        if represented is not None and represent_the_same(answer, represented):
            fields = {**represented().fields, **fields}
    return dict(sorted(fields.items()))


def _unstorable_fields(
    data: Mapping[str, object], serializer: Serializer[Any]
) -> dict[str, list[ErrorDetail]]:
    """Return an error for each path whose value cannot be stored, but stop
    after more errors than a response may have.
    """
    problems: dict[str, list[ErrorDetail]] = {}
    for path, value in _values_by_path(data, serializer):
        if len(problems) > MAX_PROBLEMS:
            break
        try:
            check_storable(value)
        except Unstorable as error:
            problems[path] = [ErrorDetail(str(error), error.code)]
    return problems


def _values_by_path(
    data: Mapping[str, object], serializer: Serializer[Any]
) -> Iterator[tuple[str, object]]:
    """Yield the keys and values of an object, and those directly in its
    values, with their paths.

    Paths are not longer, so that a long key is in only a few of them.
    """
    for name, value in data.items():
        yield name, name
        # A BatchField reports the errors of its items in their results.
        if hasattr(serializer.fields.get(name), "has_results"):
            continue
        if isinstance(value, dict):
            for key, item in value.items():
                yield f"{name}.{key}", {key: item}
        elif isinstance(value, list):
            for index, item in enumerate(value):
                yield f"{name}.{index}", item
        else:
            yield name, value
