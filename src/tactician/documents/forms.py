"""Forms: models of documents with the fields of a runtime class, so that each field is declared once.

The runtime class declares a field with its type, its limits and its default, and the form names the class:

    @frozen(kw_only=True)
    class RetrySettings:
        max_retries: Count = 3

    @form_of(RetrySettings)
    class RetryPart(Part):
        "Retries of a failed call."

A field that the form declares itself replaces the runtime class's, for a document in which it looks different.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import MISSING
from operator import or_
from typing import Any, Final, TypeVar, get_args

from pydantic import BaseModel, create_model

from tactician.data_fields import DataField, list_data_fields

M = TypeVar("M", bound=BaseModel)
_NONE: Final = type(None)


def form_of(
    kind: type,
    *,
    only: Collection[str] | None = None,
    without: Collection[str] = (),
    names: Mapping[str, str] | None = None,
    convert: Callable[[object], object] = lambda declared: declared,
    is_optional: bool = False,
) -> Callable[[type[M]], type[M]]:
    """Add the fields of a runtime class to a model, except those that the model declares itself.

    Args:
        kind: the runtime class.
        only: the fields to take; all, when `None`.
        without: the fields to leave out.
        names: the names that the model gives to fields.
        convert: function from a declared type to the type in the model.
        is_optional: true when each field may be missing, and is `None` then, whatever its default.
    """

    def extend(form: type[M]) -> type[M]:
        more: dict[str, Any] = {}
        for field in list_form_fields(kind, only=only, without=without):
            name = (names or {}).get(field.name, field.name)
            if name not in form.model_fields:
                more[name] = _describe(field, convert(field.kind), is_optional)
        extended = create_model(form.__name__, __base__=form, __module__=form.__module__, __doc__=form.__doc__, **more)
        extended.__qualname__ = form.__qualname__
        return extended

    return extend


def list_form_fields(
    kind: type, *, only: Collection[str] | None = None, without: Collection[str] = ()
) -> list[DataField]:
    """Return the fields of a dataclass or a `TypedDict` that documents may set, in the order of the class.

    Raises:
        TypeError: when the class has no field of a name in `only` or `without`.
    """
    declared = list_data_fields(kind)
    if unknown := {*(only or ()), *without} - {field.name for field in declared}:
        raise TypeError(f"{kind.__name__} has no field {min(unknown)!r}")
    return [
        field
        for field in declared
        if (only is None or field.name in only) and field.name not in without and not field.is_code_only
    ]


def _describe(field: DataField, kind: object, is_optional: bool) -> tuple[object, object]:
    if is_optional:
        return kind if _NONE in get_args(kind) else or_(kind, None), None
    return kind, ... if field.default is MISSING else field.default
