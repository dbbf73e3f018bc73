"""`${NAME}` where not any text may be: what is put in is checked when the blueprint is built."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from pydantic import GetCoreSchemaHandler, GetJsonSchemaHandler, ValidationInfo, ValidatorFunctionWrapHandler
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema, core_schema

from tactician.documents import find_variable, has_variables

FILLED: Final = "filled"
"""The context of validation in which variables were put in: nothing is let through any more."""
_VARIABLE: Final = r"\$\{[A-Za-z_]\w*(:-[^}]*)?\}"
_TEXT: Final = {"type": "string"}


class Pending(str):
    """A variable in the place of a number or a flag."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class Later:
    """Lets texts with a variable through until that is put in, and everything else to the validator inside."""

    name: str
    description: str
    pattern: str
    kind: type[str]
    matches: Callable[[str], object]

    @property
    def schema(self) -> JsonSchemaValue:
        """The JSON Schema of those texts."""
        return {"title": self.name, "description": self.description, **_TEXT, "pattern": self.pattern}

    def __get_pydantic_core_schema__(self, source: object, handler: GetCoreSchemaHandler) -> CoreSchema:
        def read(value: object, inner: ValidatorFunctionWrapHandler, info: ValidationInfo) -> object:
            if info.context != FILLED and isinstance(value, str) and self.matches(value):
                return self.kind(value)
            return inner(value)

        return core_schema.with_info_wrap_validator_function(read, handler(source))

    def __get_pydantic_json_schema__(self, schema: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        said = handler(schema)
        return said if said == _TEXT else {"anyOf": [said, {"$ref": f"#/$defs/{self.name}"}]}


LATER: Final = Later(
    "Variable",
    "`${NAME}` or `${NAME:-otherwise}`: what the environment says.",
    f"^{_VARIABLE}$",
    Pending,
    find_variable,
)
LATER_IN_TEXT: Final = Later(
    "TextWithVariables", "A text with `${NAME}` in it.", f"(^|[^$]){_VARIABLE}", str, has_variables
)
