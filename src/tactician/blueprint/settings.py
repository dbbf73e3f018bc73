"""Settings objects in blueprints: their fields by name, with functions by the names that imports find."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Any, TypeVar, get_args, get_origin

from tactician.blueprint.builder import Builder
from tactician.blueprint.exporter import Exporter
from tactician.blueprint.functions import export_function, find_function
from tactician.blueprint.schema_base import Part
from tactician.data_fields import DataField
from tactician.documents.forms import list_form_fields

P = TypeVar("P", bound=Part)


def build_values(
    kind: type, part: Part, builder: Builder, *, only: Collection[str] | None = None, without: Collection[str] = ()
) -> dict[str, Any]:
    """Return the arguments of a class that a part with its fields has; `only` and `without` are as for `form_of`."""
    values: dict[str, Any] = {}
    for field in list_form_fields(kind, only=only, without=without):
        value = getattr(part, field.name, None)
        if _takes_function(field) and value is not None:
            value = _find_functions(value, builder, field.name)
        if value is not None:
            values[field.name] = value
    return values


def export_values(
    kind: type, value: object, exporter: Exporter, *, only: Collection[str] | None = None, without: Collection[str] = ()
) -> dict[str, object]:
    """Return the fields of a part for an object: each value that differs from its default."""
    fields = list_form_fields(kind, only=only, without=without)
    changed = ((field, item) for field in fields if (item := getattr(value, field.name)) != field.default)
    return {field.name: _export_value(field, item, exporter) for field, item in changed}


def export_part(form: type[P], value: object, exporter: Exporter) -> P | None:
    """Return the part of an object whose class has the fields of the part; `None` without an object."""
    return None if value is None else exporter.make(form, export_values(type(value), value, exporter))


def _takes_function(field: DataField) -> bool:
    """Return whether a field has a function, or a list of functions."""
    return any(get_origin(kind) is Callable for kind in _list_kinds(field.kind))


def _list_kinds(declared: object) -> Iterable[object]:
    """Yield a type, and all types inside it. Arguments of functions do not count."""
    yield declared
    if get_origin(declared) is not Callable:
        for inside in get_args(declared):
            yield from _list_kinds(inside)


def _find_functions(value: str | tuple[str, ...], builder: Builder, name: str) -> object:
    if isinstance(value, str):
        return find_function(value, builder, name)
    functions = (find_function(item, builder, name, place) for place, item in enumerate(value))
    return tuple(function for function in functions if function is not None)


def _export_value(field: DataField, value: object, exporter: Exporter) -> object:
    if _takes_function(field):
        if not isinstance(value, Collection):
            return export_function(value, exporter, field.name)  # type: ignore[arg-type]  # a function, as declared
        named = (export_function(item, exporter, field.name, place) for place, item in enumerate(value))
        return tuple(name for name in named if name is not None) or None
    if isinstance(value, frozenset):
        return tuple(sorted(value)) or None
    return (dict(value) if isinstance(value, Mapping) else value) or None if isinstance(value, Collection) else value
