"""Checks of arguments against the JSON Schema of a tool that is declared by data."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property
from typing import TYPE_CHECKING

from pydantic_core import from_json

from tactician.errors import ConfigurationError, InvalidArgumentsError
from tactician.llm.model import JsonSchema
from tactician.text import replace_surrogates

if TYPE_CHECKING:
    from jsonschema import Draft202012Validator, SchemaError, ValidationError

_MOST_PROBLEMS = 5


class SchemaCheck:
    """Check of arguments against a JSON Schema, draft 2020-12. No schema elsewhere is ever fetched.

    Args:
        tool: name of the tool, for errors.
        schema: schema of its arguments.
    """

    def __init__(self, tool: str, schema: JsonSchema) -> None:
        self._tool = tool
        self._schema = schema

    def check(self, arguments: str) -> None:
        """Check arguments, as the model wrote them.

        Raises:
            InvalidArgumentsError: when they are not a JSON object that fits the schema, with a message for the model.
            ConfigurationError: when the schema itself is not valid.
        """
        try:
            values: object = from_json(replace_surrogates(arguments) or "{}")
        except ValueError as error:
            raise InvalidArgumentsError(f"The arguments are not valid: they are not JSON: {error}") from error
        if not isinstance(values, dict):
            raise InvalidArgumentsError("The arguments are not valid: they must be a JSON object")
        if problems := self._find_problems(values):
            raise InvalidArgumentsError(f"The arguments are not valid: {'; '.join(problems)}")

    def _find_problems(self, values: object) -> list[str]:
        from referencing.exceptions import Unresolvable

        try:
            errors = sorted(self._validator.iter_errors(values), key=lambda error: list(map(str, error.absolute_path)))
        except (Unresolvable, RecursionError) as error:
            raise self._create_schema_error(str(error) or "it has no end") from error
        more = [f"and {len(errors) - _MOST_PROBLEMS} more"] if len(errors) > _MOST_PROBLEMS else []
        return [*map(_describe, errors[:_MOST_PROBLEMS]), *more]

    @cached_property
    def _validator(self) -> Draft202012Validator:
        from jsonschema import Draft202012Validator, SchemaError
        from referencing import Registry

        try:
            Draft202012Validator.check_schema(self._schema)
        except SchemaError as error:
            raise self._create_schema_error(_describe(error)) from error
        return Draft202012Validator(self._schema, registry=Registry())

    def _create_schema_error(self, problem: str) -> ConfigurationError:
        return ConfigurationError(f"The tool {self._tool!r}: its parameters are not a valid JSON Schema: {problem}")


def _describe(error: ValidationError | SchemaError) -> str:
    return f"{_join(error.absolute_path)}: {error.message}"


def _join(path: Iterable[object]) -> str:
    return ".".join(map(str, path)) or "it"
