"""What the rules of all strict fakes are written with."""

from __future__ import annotations

from collections.abc import Sequence

Body = dict[str, object]


class Refused(Exception):  # noqa: N818  # it is an answer, not a failure of the test
    """The provider refuses the request, with this message and status; with a code, where it has one for that."""

    def __init__(self, message: str, status: int = 400, code: str | None = None) -> None:
        super().__init__(message)
        self.status = status
        self.code = code


def require(holds: object, message: str, status: int = 400) -> None:
    """Raises `Refused` unless it holds."""
    if not holds:
        raise Refused(message, status)


def listed(value: object) -> Sequence[Body]:
    """The objects of a list; none when there is no list."""
    if value is None:
        return []
    require(isinstance(value, list) and all(isinstance(one, dict) for one in value), "a list of objects is needed")
    assert isinstance(value, list)
    return value


def check_strict_schema(schema: object) -> None:
    """OpenAI's guide "Structured outputs", "Supported schemas"."""
    require(isinstance(schema, dict) and schema.get("type") == "object", "schema must be of type object")
    _check_strict(schema)


def _check_strict(schema: object) -> None:
    if isinstance(schema, list):
        for one in schema:
            _check_strict(one)
    if not isinstance(schema, dict):
        return
    for refused in ("minLength", "maxLength", "oneOf", "allOf", "default"):
        require(refused not in schema, f"Invalid schema: '{refused}' is not permitted.")
    if isinstance(properties := schema.get("properties"), dict):
        require(schema.get("additionalProperties") is False, "'additionalProperties' is required to be false")
        complete = sorted(schema.get("required", [])) == sorted(properties)
        require(complete, "'required' is required to be supplied and to include every key in properties")
        for inner in properties.values():
            _check_strict(inner)
    for name in ("items", "anyOf"):
        _check_strict(schema.get(name))
    for inner in schema.get("$defs", {}).values():
        _check_strict(inner)
