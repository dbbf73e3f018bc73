"""JSON Schemas that were made to take long, each with a value."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

OBJECT: Final = {"type": "object"}


def _create(rule: object, value: object, **more: object) -> tuple[dict[str, object], dict[str, object]]:
    return {**OBJECT, "properties": {"x": rule}, **more}, {"x": value}


_LETTERS = "a" * 28 + "!"
_DOUBLED = {f"d{level}": {"anyOf": [{"$ref": f"#/$defs/d{level + 1}"}] * 2} for level in range(30)}
_OBJECTS = [{"n": number} for number in range(6_000)]

HOSTILE: Final[Mapping[str, tuple[dict[str, object], dict[str, object]]]] = {
    "pattern": _create({"type": "string", "pattern": "^(a+)+$"}, _LETTERS),
    "pattern of properties": ({**OBJECT, "patternProperties": {"^(a+)+$": {}}}, {_LETTERS: 1}),
    "others by a pattern": (
        {**OBJECT, "patternProperties": {"^(a+)+$": {}}, "additionalProperties": False},
        {_LETTERS: 1},
    ),
    "unevaluated": (
        {**OBJECT, "patternProperties": {"^(a+)+$": {}}, "unevaluatedProperties": False},
        {_LETTERS: 1},
    ),
    "another draft": _create({"$schema": "http://json-schema.org/draft-07/schema#", "pattern": "^(a+)+$"}, _LETTERS),
    "references that double": _create(
        {"$ref": "#/$defs/d0"}, "x", **{"$defs": {**_DOUBLED, "d30": {"type": "integer"}}}
    ),
    "anchors": _create(
        {"items": {"$ref": "#here"}},
        list(range(3_000)),
        **{"$defs": {f"a{n}": {} for n in range(3_000)}, "$anchor": "here"},
    ),
    "unique objects": _create({"type": "array", "uniqueItems": True}, _OBJECTS),
    "choice of objects": _create({"items": {"enum": _OBJECTS}}, _OBJECTS),
    "many types": _create({"type": _OBJECTS}, "x"),
    "schema in a schema": _create({"items": {"$ref": "https://json-schema.org/draft/2020-12/schema"}}, [{}] * 6_000),
}
