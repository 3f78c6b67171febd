"""Values that are as large, as many or as odd as a schema of the OpenAPI
document allows, and some that are more so.
"""

import json
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from tests.operations import Existing

TEXTS = {
    "letters": "a",
    "emoji": "😀",
    "capital I with dot": "İ",
    "spaces": " ",
    "line breaks": "\n",
    "percent signs": "%",
    "brackets": "[",
    "quotes and commas": '"",',
    "backslashes": "\\",
    "slashes": "/",
    "dots": ".",
    "digits": "1",
}
"""What long texts consist of."""

MEMBERS = ["[]", "{}", "0", "1.5", '""', "null", "1e999"]
"""What long lists of JSON consist of."""

LARGE_NUMBER = 10**6
"""A value of an integer without a maximum."""

LONG_AGO = "2000-01-01T00:00:00Z"


class Extreme(NamedTuple):
    """A value as JSON, and what is special about it."""

    name: str
    text: str


class Extremes:
    """The extreme values of the schemas of an OpenAPI document."""

    def __init__(
        self, document: dict[str, Any], texts: Iterable[str], members: Iterable[str]
    ) -> None:
        self.components = document["components"]
        self.texts = texts
        self.members = members

    def resolved(self, schema: dict[str, Any]) -> dict[str, Any]:
        """Return the schema that a reference names, or the first of several."""
        if "$ref" in schema:
            _, _, kind, name = schema["$ref"].split("/")
            return self.components[kind][name]
        if "oneOf" in schema:
            return self.resolved(schema["oneOf"][0])
        return schema

    def of(self, schema: dict[str, Any], base: Any, room: int) -> Iterator[Extreme]:
        """Yield values of about ``room`` bytes at most.

        ``base`` is a valid value, or None if none is known.
        """
        yield from self.of_type(schema, base, room)
        yield from unusual(room, self.members)

    def of_type(
        self, schema: dict[str, Any], base: Any, room: int
    ) -> Iterator[Extreme]:
        """Yield values of the type of the schema, as ``of`` does."""
        schema = self.resolved(schema)
        for value in schema.get("enum", []):
            yield Extreme(str(value), json.dumps(value))
        if "properties" in schema:
            yield from self.of_object(schema, base or {}, room)
        elif "items" in schema:
            yield from self.of_array(schema, base or [], room)
        elif is_type(schema, "string"):
            yield from texts(schema, base or "", room, self.texts)
        yield Extreme("the largest", encoded(self.largest(schema, base, room)))

    def of_object(
        self, schema: dict[str, Any], base: dict[str, Any], room: int
    ) -> Iterator[Extreme]:
        fields = {name: encoded(value) for name, value in base.items()}
        properties = schema["properties"]
        for name, field in properties.items():
            for extreme in self.of(field, base.get(name), room):
                changed = {**fields, name: extreme.text}
                yield Extreme(f"{name}: {extreme.name}", json_object(changed.items()))
            value = fields.get(name, "null")
            repeated = [(name, value)] * (room // (len(name) + len(value) + 4))
            yield Extreme(f"{name} repeated", json_object([*fields.items(), *repeated]))
        unknown = [(f"unknown{number}", "[]") for number in range(room // 20)]
        yield Extreme("unknown fields", json_object([*fields.items(), *unknown]))

    def of_array(
        self, schema: dict[str, Any], base: list[Any], room: int
    ) -> Iterator[Extreme]:
        item = schema["items"]
        first = base[0] if base else None
        most = schema.get("maxItems", LARGE_NUMBER)
        small = encoded(self.numbered(item, first, ""))
        yield Extreme("the same items", json_array(small, most, room))
        yield Extreme("too many items", json_array(small, LARGE_NUMBER, room))
        different = (encoded(self.numbered(item, first, str(n))) for n in range(most))
        yield Extreme("different items", f"[{','.join(fitting(different, room))}]")
        for each in self.of(item, first, room // min(most, 1000)):
            name = f"items with {each.name}"
            yield Extreme(name, json_array(each.text, most, room))
        large = encoded(self.largest(item, first, room // 10))
        yield Extreme("the same large items", json_array(large, most, room))

    def largest(
        self, schema: dict[str, Any], base: Any, room: int, number: str = ""
    ) -> Any:
        """Return the largest valid value of about ``room`` bytes at most, which
        differs for each number.
        """
        if isinstance(base, Existing):
            return base
        schema = self.resolved(schema)
        if "properties" in schema:
            return self.largest_object(schema, base or {}, room, number)
        if "items" in schema:
            most = schema.get("maxItems", LARGE_NUMBER)
            known = [self.largest(schema["items"], each, room) for each in base or []]
            others = (
                self.largest(schema["items"], None, room // most, f"{number}-{n}")
                for n in range(most - len(known))
            )
            return fitting([*known, *others], room)
        if is_type(schema, "object"):
            # Objects with any values have long texts.
            member = schema["additionalProperties"] or {"maxLength": 1000}
            value = self.largest(member, None, room)
            size = len(encoded(value).encode()) + 10
            return {str(key): value for key in range(room // size)}
        if is_type(schema, "string") and "maxLength" in schema:
            text = f"{base or ''}{number}"
            # an emoji has four bytes
            length = min(schema["maxLength"], len(text) + room // 4)
            return text.ljust(length, TEXTS["emoji"])
        return self.numbered(schema, base, number)

    def largest_object(
        self, schema: dict[str, Any], base: dict[str, Any], room: int, number: str
    ) -> dict[str, Any]:
        value = {}
        # Fields without a maximum share what the others leave.
        properties = sorted(
            schema["properties"].items(), key=lambda each: is_type(each[1], "object")
        )
        left = room
        for name, field in properties:
            if name in base and base[name] is None:
                value[name] = None
                continue
            # Nothing is known about valid texts without a maximum, such as ids.
            if (
                name not in base
                and is_type(field, "string")
                and "maxLength" not in field
            ):
                continue
            share = left if not is_type(field, "object") else left // 2
            value[name] = self.largest(field, base.get(name), share, number)
            left -= len(encoded(value[name]).encode())
        return value

    def numbered(self, schema: dict[str, Any], base: Any, number: str) -> Any:
        """Return ``base``, or a small valid value, which differs for each number
        if it can.
        """
        schema = self.resolved(schema)
        if "properties" in schema:
            required = dict.fromkeys(schema.get("required", []))
            return {
                name: self.numbered(schema["properties"][name], value, number)
                for name, value in {**required, **(base or {})}.items()
            }
        if is_type(schema, "string") and "maxLength" in schema:
            return f"{base or 'a'}{number}"
        if base is not None:
            return base
        if "enum" in schema:
            return schema["enum"][0]
        if schema.get("format") == "date-time":
            return LONG_AGO
        small = {"string": "a", "integer": schema.get("maximum", LARGE_NUMBER)}
        small |= {"boolean": True, "array": [], "object": {}}
        kinds = schema.get("type", "string")
        return small[kinds if isinstance(kinds, str) else kinds[0]]


def is_type(schema: dict[str, Any], name: str) -> bool:
    kinds = schema.get("type", "string")
    return name == kinds or (isinstance(kinds, list) and name in kinds)


def texts(
    schema: dict[str, Any], base: str, room: int, names: Iterable[str]
) -> Iterator[Extreme]:
    """Yield long texts, which begin as a valid one does."""
    most = schema.get("maxLength", room)
    for name in names:
        text = base + TEXTS[name] * most
        yield Extreme(name, encoded(text[:most]))
        too_many = room // len(TEXTS[name].encode())
        yield Extreme(f"too many {name}", encoded(base + TEXTS[name] * too_many))
    # Each of them has twelve bytes.
    yield Extreme("escaped emoji", json.dumps((base + "😀" * most)[:most]))


def unusual(room: int, members: Iterable[str]) -> Iterator[Extreme]:
    """Yield JSON that most fields refuse."""
    for member in members:
        yield Extreme(f"list of {member}", json_array(member, LARGE_NUMBER, room))
    depth = room // 8
    yield Extreme("nested lists", "[" * depth + "]" * depth)
    yield Extreme("nested objects", '{"a":' * depth + "0" + "}" * depth)
    keys = room // 12
    yield Extreme("keys", json_object([(str(key), "[]") for key in range(keys)]))
    yield Extreme("the same key", json_object([("a", "[]")] * keys))
    yield Extreme("a long key", json_object([("a" * room, "[]")]))
    yield Extreme("a long integer", "1" * room)
    yield Extreme("a long fraction", f"0.{'1' * room}")


def encoded(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=str)


def json_object(fields: Any) -> str:
    return "{" + ",".join(f'"{name}":{value}' for name, value in fields) + "}"


def json_array(item: str, most: int, room: int) -> str:
    return f"[{','.join([item] * min(most, room // (len(item.encode()) + 1)))}]"


def fitting(values: Any, room: int) -> list[Any]:
    """Return as many of the values as have ``room`` bytes together."""
    chosen = []
    for value in values:
        room -= len(encoded(value).encode()) + 1
        if room < 0 and chosen:
            break
        chosen.append(value)
    return chosen
