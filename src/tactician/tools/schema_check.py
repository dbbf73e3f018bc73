"""Checks of arguments against the JSON Schema of a tool that is declared by data."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from pydantic_core import from_json

from tactician.errors import ConfigurationError, InvalidArgumentsError
from tactician.llm.model import JsonSchema
from tactician.text import replace_surrogates
from tactician.tools.bounded_schema import TooManyChecksError, check_schema, find_mistakes

if TYPE_CHECKING:
    from jsonschema import SchemaError, ValidationError

_MOST_PROBLEMS = 5


class SchemaCheck:
    """Check of arguments against a JSON Schema, draft 2020-12, in bounded time. No schema elsewhere is ever fetched.

    Args:
        tool: name of the tool, for errors.
        schema: schema of its arguments.
    """

    def __init__(self, tool: str, schema: JsonSchema) -> None:
        self._tool = tool
        self._schema = schema
        self._is_valid = False

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
        if (problems := self.find_problems(values)) is None:
            problems = ["checking them takes too long: write less"]
        if problems:
            raise InvalidArgumentsError(f"The arguments are not valid: {'; '.join(problems)}")

    def find_problems(self, values: object) -> list[str] | None:
        """Return what is wrong with values that were read from JSON; `None` when checking them takes too long.

        Raises:
            ConfigurationError: when the schema itself is not valid.
        """
        from referencing.exceptions import Unresolvable

        self._check_schema()
        try:
            mistakes = sorted(find_mistakes(self._schema, values), key=lambda one: list(map(str, one.absolute_path)))
        except TooManyChecksError:
            return None
        except (Unresolvable, RecursionError) as error:
            raise self._create_schema_error(str(error) or "it has no end") from error
        more = [f"and {len(mistakes) - _MOST_PROBLEMS} more"] if len(mistakes) > _MOST_PROBLEMS else []
        return [*map(_describe, mistakes[:_MOST_PROBLEMS]), *more]

    def _check_schema(self) -> None:
        """Check the schema itself, once.

        Raises:
            ConfigurationError: when it is not valid.
        """
        from jsonschema import SchemaError

        try:
            if not self._is_valid:
                check_schema(self._schema)
        except SchemaError as error:
            raise self._create_schema_error(_describe(error)) from error
        except (RecursionError, TooManyChecksError) as error:
            raise self._create_schema_error(str(error) or "it has no end") from error
        self._is_valid = True

    def _create_schema_error(self, problem: str) -> ConfigurationError:
        return ConfigurationError(f"The tool {self._tool!r}: its parameters are not a valid JSON Schema: {problem}")


def _describe(error: ValidationError | SchemaError) -> str:
    return f"{_join(error.absolute_path)}: {error.message}"


def _join(path: Iterable[object]) -> str:
    return ".".join(map(str, path)) or "it"
