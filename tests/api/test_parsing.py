"""The cost of decoding JSON is bounded by the number of values and by their
depth.
"""

import json

import pytest
from django.core.exceptions import ValidationError
from hypothesis import given
from hypothesis import strategies as st

from tests.answers import error_code
from usergroups.api.strict_json import MAX_VALUES, TooManyValues, decode
from usergroups.db.storable_text import MAX_DEPTH, require_storable_json

pytestmark = pytest.mark.database_independent


def loads(body):
    value = decode(body)
    require_storable_json(value)
    return value


MEMBERS = {
    "integers": (b"0", 1),
    "empty lists": (b"[]", 2),
    "objects": (b'{"a":0}', 2),
    "strings with commas": (b'",["', 1),
    "strings with quotation marks": (rb'"\","', 1),
    "strings that end with a backslash": (rb'"\\"', 1),
}
"""By kind, a value, and how many commas and brackets it has with the comma
after it.
"""


@pytest.mark.parametrize(("member", "marks"), MEMBERS.values(), ids=MEMBERS)
def test_the_number_of_values_is_limited(member, marks):
    members = (member + b",") * (MAX_VALUES // marks - 1)
    # The last values use up the limit: the bracket of the list is the first
    # of ``marks``, and the commas between the zeros are the others.
    zeros = b",".join([b"0"] * marks)

    loads(b"[" + members + zeros + b"]")
    with pytest.raises(TooManyValues):
        loads(b"[" + members + zeros + b",0]")


def test_keys_do_not_count():
    members = b'"[":"[",' * (MAX_VALUES - 1)

    loads(b"{" + members + b'"a":0}')
    with pytest.raises(TooManyValues):
        loads(b"{" + members + b'"a":0,"b":0}')


TEXTS = {
    "commas": "," * (MAX_VALUES + 1),
    "brackets": "[{" * MAX_VALUES,
    "closing brackets": "]}" * MAX_VALUES,
    "escaped quotation marks": '",' * MAX_VALUES,
    "backslashes": "\\," * MAX_VALUES,
    "quotation marks and backslashes": '\\",[' * MAX_VALUES,
    "other escapes": "\n\t," * MAX_VALUES,
}


@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)
def test_what_is_in_a_string_is_not_counted(text):
    value = {"a": [text, text], text: text}

    assert loads(json.dumps(value).encode()) == value


def test_a_body_with_too_many_values_is_refused(update_user_group, user_group):
    body = b'{"user_group_id": "%s", "properties": {"a": [0%s]}}'
    user_group_id = user_group.provided_id.encode()
    # Three opening brackets and the comma between the fields count, too.
    zeros = b",0" * (MAX_VALUES - 4)

    accepted = update_user_group(body % (user_group_id, zeros))
    refused = update_user_group(body % (user_group_id, zeros + b",0"))

    assert accepted.status_code == 200
    assert error_code(refused, 400) == "too_many_values"


# Texts in which marks of JSON are frequent, inside and outside strings.
marks = st.lists(st.sampled_from([",", "[", "]", "{", "}", '"', "\\", "a", "é"]))
values = st.recursive(
    marks.map("".join),
    lambda children: st.lists(children) | st.dictionaries(marks.map("".join), children),
    max_leaves=20,
)


def depth_of(value):
    """Return how deep lists and dictionaries are nested, 0 for a string."""
    if isinstance(value, str):
        return 0
    if isinstance(value, dict):
        value = value.values()
    return 1 + max(map(depth_of, value), default=0)


@given(value=values, other=values)
def test_depth_is_counted_outside_strings(value, other):
    """Wrapped in enough lists, a value is exactly as deep as the limit."""
    wraps = MAX_DEPTH - depth_of([value, other])
    deepest = ["["] * wraps + [json.dumps([value, other])] + ["]"] * wraps

    loads("".join(deepest).encode())
    with pytest.raises(ValidationError, match="deeper than 64"):
        loads("".join(["[", *deepest, "]"]).encode())


@pytest.mark.parametrize("opening", ["[", '{"a":'])
def test_json_that_is_too_deep_for_python_is_refused(opening):
    with pytest.raises(ValueError, match="deeper than 64"):
        decode(opening.encode() * 200_000)


@given(
    digits=st.text("0123456789", min_size=1, max_size=400),
    exponent=st.integers(-400, 400),
)
def test_a_decimal_is_read_as_python_reads_it_or_overflows(digits, exponent):
    literal = f"1.{digits}e{exponent}"
    if exponent > 308:
        with pytest.raises(ValidationError, match="too large"):
            loads(f"[{literal}]".encode())
    else:
        assert loads(f"[{literal}]".encode()) == [float(literal)]


LARGEST = int(float.fromhex("0x1.fffffffffffffp+1023"))  # 309 digits


@pytest.mark.parametrize("text", [f"[{LARGEST}, 1]", f"[-{LARGEST}, 1]"])
def test_the_largest_integers_keep_every_digit(text):
    assert loads(text.encode()) == json.loads(text)


@pytest.mark.parametrize(
    "literal", [f"{LARGEST * 2}", f"-{LARGEST * 2}", "1" * 4000, "1e309", "-1e309"]
)
def test_a_number_that_overflows_a_double_is_refused(literal):
    with pytest.raises(ValidationError, match="contains a number that is too large"):
        loads(f"[{literal}]".encode())


def test_a_number_that_is_too_long_for_python_is_refused():
    with pytest.raises(ValueError, match="4300 digits"):
        decode(b"1" * 5000)


def test_digits_in_a_string_are_not_a_number():
    assert loads(b'["%s", 10]' % (b"1" * 400)) == ["1" * 400, 10]
