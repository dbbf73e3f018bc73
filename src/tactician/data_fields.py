"""Fields of a class as its forms as data have them: their types with all metadata, and their names there.

A class declares each of its fields once. What data have differently stands beside the type, as `Annotated[...]`
metadata: a codec, limits, another name (`pydantic.Field(alias=...)`), or that only code sets it (`CodeOnly`).
Annotations are read when data are: until then, none of pydantic's models need to be imported.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from functools import cache
from typing import (
    TYPE_CHECKING,
    Annotated,
    Final,
    TypeAlias,
    TypeVar,
    get_args,
    get_origin,
    get_type_hints,
    is_typeddict,
)

from tactician.frozen import frozen

if TYPE_CHECKING:
    from pydantic import GetCoreSchemaHandler
    from pydantic_core import CoreSchema

T = TypeVar("T")


def _refuse(value: object) -> object:
    raise ValueError("only the code of a program can set it")


class _CodeOnly:
    """Mark of a field that data cannot set."""

    def __get_pydantic_core_schema__(self, source: object, handler: GetCoreSchemaHandler) -> CoreSchema:
        from pydantic_core import core_schema

        return core_schema.no_info_plain_validator_function(_refuse)


CODE_ONLY: Final = _CodeOnly()
"""Mark of a field that data cannot set."""
CodeOnly: TypeAlias = Annotated[T, CODE_ONLY]
"""Field that only the code of a program sets: data have no such field, and a value for it is refused."""


@frozen
class DataField:
    """Field of a dataclass.

    Attributes:
        name: the name in the class.
        kind: the type, with its metadata.
        default: the default; `dataclasses.MISSING` for a required field.
    """

    name: str
    kind: object
    default: object

    @property
    def metadata(self) -> tuple[object, ...]:
        """The metadata beside the type."""
        return get_args(self.kind)[1:] if get_origin(self.kind) is Annotated else ()

    @property
    def alias(self) -> str:
        """The name in data."""
        from pydantic.fields import FieldInfo

        aliases = (mark.alias for mark in self.metadata if isinstance(mark, FieldInfo))
        return next((alias for alias in aliases if alias is not None), self.name)

    @property
    def is_code_only(self) -> bool:
        """True when data cannot set it."""
        return CODE_ONLY in self.metadata


@cache
def list_data_fields(kind: type) -> tuple[DataField, ...]:
    """Return the fields of a dataclass or a `TypedDict` in their order, those that only code sets included."""
    hints = get_type_hints(kind, include_extras=True)
    if is_typeddict(kind):
        return tuple(DataField(name, hint, dataclasses.MISSING) for name, hint in hints.items())
    declared = dataclasses.fields(kind)
    return tuple(DataField(field.name, hints[field.name], _find_default(field)) for field in declared if field.init)


def find_missing(kind: type, names: Iterable[str]) -> list[str]:
    """Return the names in data that stored data of a class need beside some names: those whose default is not empty.

    Every version has stored these fields. A field that is new has an empty default, `None` or `()`.
    """
    present = set(names)
    needed = (
        field.alias for field in list_data_fields(kind) if field.default not in (None, ()) and not field.is_code_only
    )
    return [name for name in needed if name not in present]


def _find_default(field: dataclasses.Field[object]) -> object:
    if field.default_factory is not dataclasses.MISSING:
        return field.default_factory()
    return field.default
