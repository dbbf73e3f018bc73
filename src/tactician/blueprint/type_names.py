"""Names of types: `acme.Order`, `list[acme.Order]`, `acme.Order | None`; and their Java spellings."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from datetime import date, datetime
from decimal import Decimal
from functools import reduce
from types import MappingProxyType, NoneType, UnionType
from typing import Any, Final, Union, cast, get_args, get_origin
from uuid import UUID

from pydantic import BaseModel

from tactician.frozen import frozen
from tactician.names import find_import_path

_LONGEST = 1_000
_DEEPEST = 20
_TOKEN = re.compile(r"\s*([^\W\d][\w.$]*|\.\.\.|[\[\]<>,|])")
_SIGNS: Final = frozenset("[]<>,|")
_KNOWN: Final = MappingProxyType(
    {kind.__name__: kind for kind in (str, int, float, bool, list, dict, set, frozenset, tuple)}
    | {f"{kind.__module__}.{kind.__name__}": kind for kind in (date, datetime, Decimal, UUID)}
    | {"None": NoneType, "...": ...}
)
_JAVA: Final = MappingProxyType(
    {
        "java.lang.String": "str",
        "java.lang.Integer": "int",
        "java.lang.Long": "int",
        "java.lang.Double": "float",
        "java.lang.Float": "float",
        "java.lang.Boolean": "bool",
        "java.math.BigDecimal": "decimal.Decimal",
        "java.math.BigInteger": "int",
        "java.time.Instant": "datetime.datetime",
        "java.time.LocalDate": "datetime.date",
        "java.time.LocalDateTime": "datetime.datetime",
        "java.util.UUID": "uuid.UUID",
        "java.util.List": "list",
        "java.util.Set": "set",
        "java.util.Map": "dict",
    }
)


@frozen
class TypeName:
    """Name of a type, with its type arguments.

    Attributes:
        name: the class's, or `|` for a union.
        inner: the types that it is made of.
    """

    name: str
    inner: tuple[TypeName, ...] = ()

    def __str__(self) -> str:
        parts = list(map(str, self.inner))
        if self.name == "|":
            return " | ".join(parts)
        return f"{self.name}[{', '.join(parts)}]" if parts else self.name

    @classmethod
    def of(cls, text: str) -> TypeName:
        """Parse a name in Python's spelling.

        Raises:
            ValueError: when the text is not the name of a type.
        """
        tokens = _tokenize(text)
        union = _parse_union(tokens, 0)
        if tokens:
            raise ValueError(f"{text!r} is not the name of a type: {tokens[-1]!r} is not expected")
        return union

    def resolve(self, find: Callable[[str], type[object]]) -> type[object]:
        """Return the type; `find` resolves the names of classes.

        Raises:
            TypeError: when there can be no such type.
        """
        inner = [argument.resolve(find) for argument in self.inner]
        if self.name == "|":
            return reduce(_unite, inner)
        known_kind = _KNOWN.get(self.name)
        kind: Any = find(self.name) if known_kind is None else known_kind
        if not inner:
            return cast("type[object]", kind)
        return cast("type[object]", kind[inner[0] if len(inner) == 1 else tuple(inner)])


def find_type_name(kind: object) -> str | None:
    """Return the name of a type; `None` when no import would find it."""
    if kind is None:
        return "None"
    if isinstance(kind, UnionType) or get_origin(kind) is Union:
        return _join(map(find_type_name, get_args(kind)), " | ")
    origin: object = get_origin(kind)
    arguments: tuple[object, ...] = get_args(kind)
    if isinstance(kind, type) and issubclass(kind, BaseModel) and kind.__pydantic_generic_metadata__["origin"]:
        origin, arguments = kind.__pydantic_generic_metadata__["origin"], kind.__pydantic_generic_metadata__["args"]
    if origin is not None:
        outer, inner = find_type_name(origin), _join(map(find_type_name, arguments), ", ")
        return None if outer is None or inner is None else f"{outer}[{inner}]"
    type_name = next((name for name, known_kind in _KNOWN.items() if known_kind is kind), None)
    return type_name or (find_import_path(kind) if isinstance(kind, type) else None)


def _join(names: Iterable[str | None], separator: str) -> str | None:
    parts = list(names)
    return None if None in parts else separator.join(map(str, parts))


def _unite(first: Any, other: Any) -> type[object]:  # noqa: ANN401 - types have no type that says that `|` works
    return cast("type[object]", first | other)


def _tokenize(text: str) -> list[str]:
    """Return the tokens of a text in reverse order."""
    tokens: list[str] = []
    place, end = 0, len(text.rstrip())
    if end > _LONGEST:
        raise ValueError(f"the name of a type has more than {_LONGEST:,} characters: {text[:80]!r}...")
    while place < end:
        if (match := _TOKEN.match(text, place)) is None:
            raise ValueError(f"{text[:80]!r} is not the name of a type")
        tokens.append(match[1])
        place = match.end()
    return tokens[::-1]


def _parse_union(tokens: list[str], depth: int) -> TypeName:
    parts = [_parse_one(tokens, depth)]
    while tokens and tokens[-1] == "|":
        tokens.pop()
        parts.append(_parse_one(tokens, depth))
    return parts[0] if len(parts) == 1 else TypeName("|", tuple(parts))


def _parse_one(tokens: list[str], depth: int) -> TypeName:
    if depth > _DEEPEST:
        raise ValueError(f"the name of a type is nested more than {_DEEPEST} deep")
    name = tokens.pop() if tokens else ""
    if not name or name in _SIGNS:
        what = f"is expected where {name!r} is" if name else "ends early"
        raise ValueError(f"the name of a type {what}")
    inner: list[TypeName] = []
    if tokens and tokens[-1] in ("[", "<"):
        closing = {"[": "]", "<": ">"}[tokens.pop()]
        inner.append(_parse_union(tokens, depth + 1))
        while (token := tokens.pop() if tokens else "") == ",":
            inner.append(_parse_union(tokens, depth + 1))
        if token != closing:
            raise ValueError(f"{closing!r} is expected in the name of a type")
    return TypeName(_JAVA.get(name, name), tuple(inner))
