"""JSON Schemas of others: validation in bounded time.

A few lines of a schema can keep `jsonschema` busy for ever: a pattern that repeats what repeats itself, references that
double, or objects that have to be unique. Here patterns are matched in linear time, and the checks of a validation are
counted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextvars import ContextVar
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Any, Final, TypeAlias, cast

from pydantic_core import SchemaError as PatternError
from pydantic_core import SchemaValidator, ValidationError, core_schema

if TYPE_CHECKING:
    from jsonschema import Draft202012Validator
    from jsonschema import ValidationError as Mistake

_MOST_CHECKS: Final = 100_000
"""Checks of keywords in a validation: a second or two of processor time at worst, and a tenth as a rule."""
_MOST_OF_SCHEMA: Final = 300_000
"""Checks of keywords when a schema itself is checked, which takes 31 for each schema in it."""
_UNCHECKED: Final = ("patternProperties", "unevaluatedProperties", "unevaluatedItems")
"""Keywords that match patterns in Python, or visit schemas uncounted. Those who get the data may check them."""
_Check: TypeAlias = Callable[["Draft202012Validator", Any, Any, Mapping[str, Any]], "Iterator[Mistake]"]
_remaining: ContextVar[int] = ContextVar("remaining checks")


class TooManyChecksError(ValueError):
    """A validation takes more checks than are made."""


def check_schema(schema: Mapping[str, object]) -> None:
    """Check a schema itself.

    Raises:
        jsonschema.SchemaError: when it is not valid.
        TooManyChecksError: when it is too large.
        RecursionError: when it is nested too deep.
    """
    from jsonschema import Draft202012Validator, SchemaError

    rules = _create_class()(Draft202012Validator.META_SCHEMA, format_checker=Draft202012Validator.FORMAT_CHECKER)
    for mistake in _iterate(rules, schema, _MOST_OF_SCHEMA):
        raise SchemaError.create_from(mistake)


def find_mistakes(schema: Mapping[str, object], value: object) -> list[Mistake]:
    """Return what is wrong with a value by a schema that was checked.

    Raises:
        TooManyChecksError: when it takes too many checks.
        RecursionError: when references have no end.
        referencing.exceptions.Unresolvable: when a reference leads nowhere. No schema elsewhere is ever fetched.
    """
    from jsonschema_specifications import REGISTRY  # type: ignore[import-untyped]  # it is data
    from referencing.jsonschema import DRAFT202012

    resource = DRAFT202012.create_resource(schema)
    # An anchor that is looked up in a registry which was not crawled is searched for in the whole schema, each time.
    resolver = REGISTRY.with_resource(resource.id() or "", resource).crawl().resolver(resource.id() or "")
    return list(_iterate(_create_class()(schema, _resolver=resolver), value, _MOST_CHECKS))


def _iterate(validator: Draft202012Validator, value: object, most: int) -> Iterator[Mistake]:
    began = _remaining.set(most)
    try:
        yield from validator.iter_errors(value)
    finally:
        _remaining.reset(began)


@cache
def _create_class() -> Callable[..., Draft202012Validator]:
    from attrs import evolve
    from jsonschema import Draft202012Validator, validators

    checks: dict[str, _Check] = {**Draft202012Validator.VALIDATORS, "pattern": _check_pattern, "enum": _check_choice}
    checks |= {"uniqueItems": _check_uniqueness, "additionalProperties": _check_others}
    counted = {name: _count(check) for name, check in checks.items() if name not in _UNCHECKED}
    kinds = Draft202012Validator.TYPE_CHECKER
    bounded: Any = validators.create(Draft202012Validator.META_SCHEMA, counted, type_checker=kinds)
    # Its own way to the next schema changes to another class where that schema has a `$schema`.
    bounded.evolve = lambda validator, **changes: evolve(validator, **changes)
    return cast("Callable[..., Draft202012Validator]", bounded)


def _count(check: _Check) -> _Check:
    def check_counted(
        validator: Draft202012Validator, rule: object, value: object, schema: Mapping[str, object]
    ) -> Iterator[Mistake]:
        _spend(1)
        return check(validator, rule, value, schema)

    return check_counted


def _spend(checks: int) -> None:
    _remaining.set(_remaining.get() - checks)
    if _remaining.get() < 0:
        raise TooManyChecksError("it takes too long to check")


def _check_pattern(_: object, pattern: str, value: object, __: object) -> Iterator[Mistake]:
    from jsonschema import ValidationError as Mistake

    if isinstance(value, str) and not _matches(pattern, value):
        yield Mistake(f"{value!r} does not match {pattern!r}")


def _matches(pattern: str, text: str) -> bool:
    """Return whether a pattern is in a text, or cannot be matched in linear time: then others check it."""
    try:
        _compile(pattern).validate_python(text)
    except ValidationError:
        return False
    except PatternError:
        return True
    return True


@lru_cache(200)
def _compile(pattern: str) -> SchemaValidator:
    return SchemaValidator(core_schema.str_schema(pattern=pattern, regex_engine="rust-regex"))


def _check_choice(_: object, choices: list[object], value: object, __: object) -> Iterator[Mistake]:
    from jsonschema import ValidationError as Mistake

    _spend(len(choices))
    if _make_key(value) not in map(_make_key, choices):
        yield Mistake(f"{value!r} is not one of {choices!r}")


def _check_uniqueness(_: object, is_needed: object, value: object, __: object) -> Iterator[Mistake]:
    from jsonschema import ValidationError as Mistake

    if is_needed and isinstance(value, list) and len(set(map(_make_key, value))) < len(value):
        yield Mistake(f"{value!r} has non-unique elements")


def _check_others(
    validator: Draft202012Validator, rule: object, value: object, schema: Mapping[str, object]
) -> Iterator[Mistake]:
    from jsonschema import Draft202012Validator

    if "patternProperties" not in schema:
        yield from Draft202012Validator.VALIDATORS["additionalProperties"](validator, rule, value, schema)


def _make_key(value: object) -> object:
    """Return what is equal for equal values of JSON: 1 is 1.0, and not true."""
    if isinstance(value, bool):
        return bool, value
    if isinstance(value, list):
        return tuple(map(_make_key, value))
    if isinstance(value, dict):
        return frozenset((key, _make_key(item)) for key, item in value.items())
    return value
