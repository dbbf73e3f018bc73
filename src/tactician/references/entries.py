"""Entries of files: references and prompt contributors as data, by their kinds."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from types import FunctionType
from typing import Annotated, Final, NotRequired, TypeAlias, cast, get_args, get_origin

from pydantic import ConfigDict, JsonValue, TypeAdapter
from pydantic_core import PydanticSerializationError, to_jsonable_python
from typing_extensions import TypedDict

from tactician.data_fields import CODE_ONLY
from tactician.documents.data import Data
from tactician.errors import ConfigurationError, DeclarationError
from tactician.grammar import add_article
from tactician.names import NameProblem, find_import_path
from tactician.prompts import (
    CurrentDate,
    KnowledgeCutoff,
    LlmReference,
    Persona,
    PromptContributor,
    Reference,
    RoleGoalBackstory,
)
from tactician.prompts.contributor_adapters import FunctionContributor, ObjectContributor, as_contributor
from tactician.references.entry_fields import EntryScope
from tactician.references.folder import LocalDirectory
from tactician.references.late_kinds import LATE_KINDS, WritePath
from tactician.references.package_resource import PackageResource, TextFile
from tactician.references.python_api import PythonApi
from tactician.references.repository import GitRepository
from tactician.references.web_page import WebPage
from tactician.suggestions import did_you_mean
from tactician.tools.signature import resolve_hints

EntryKind: TypeAlias = Callable[..., object]
"""Class or function, which is called with the fields of an entry by their names."""
ReferenceKind: TypeAlias = Callable[..., LlmReference]
REFERENCE_KINDS: Final[Mapping[str, ReferenceKind]] = {
    "text": Reference,
    "file": TextFile,
    "web": WebPage,
    "directory": LocalDirectory,
    "repository": GitRepository,
    "python": PythonApi,
    "resource": PackageResource,
}
CONTRIBUTOR_KINDS: Final[Mapping[str, EntryKind]] = {
    "persona": Persona,
    "role": RoleGoalBackstory,
    "current_date": CurrentDate,
    "knowledge_cutoff": KnowledgeCutoff,
}
_CAPITAL: Final = re.compile(r"(?<=[a-z0-9])([A-Z])")
_CODE_FIELDS: Final[Mapping[EntryKind, tuple[str, ...]]] = {Reference: ("tools",), CurrentDate: ("today",)}
"""Fields of kinds that entries cannot set, besides those with the mark."""


def create_reference(entry: Data, scope: EntryScope, kinds: Mapping[str, EntryKind] = REFERENCE_KINDS) -> LlmReference:
    """Create the reference of an entry: a mapping with a `kind`, and the fields of the kind.

    Raises:
        ConfigurationError: when the kind is not known or not allowed.
        ValidationError: when a field is wrong.
        TypeError: when a field is missing or not known.
    """
    kind, make, fields = _read_entry(entry, scope, kinds, "text", tuple(LATE_KINDS))
    reference = _call(make, fields, scope)
    if isinstance(reference, LlmReference):
        return reference
    raise TypeError(f"the kind {kind!r} must return an LlmReference, not {add_article(type(reference).__name__)}")


def create_contributor(
    entry: Data, scope: EntryScope, kinds: Mapping[str, EntryKind] = CONTRIBUTOR_KINDS
) -> PromptContributor:
    """Create the prompt contributor of an entry; the name of a function alone stands for the function.

    Raises:
        ConfigurationError: when the kind is not known or not allowed.
        ValidationError: when a field is wrong.
        TypeError: when a field is missing or not known.
    """
    _, make, fields = _read_entry(entry, scope, kinds, None)
    if isinstance(make, FunctionType) and not fields:
        return as_contributor(make)
    return as_contributor(cast("PromptContributor", _call(make, fields, scope)))


def describe_entry(
    value: PromptContributor, kinds: Mapping[str, EntryKind], write_path: WritePath = str
) -> dict[str, Data]:
    """Return the entry that creates an equal reference or contributor.

    Args:
        value: the reference or contributor.
        kinds: the kinds, by name.
        write_path: function that returns a path as entries have it.

    Raises:
        ConfigurationError: when no entry can.
    """
    inner: object = value.inner if isinstance(value, ObjectContributor) else value
    if isinstance(inner, FunctionContributor):
        return {"kind": _find_name(inner.function, getattr(inner.function, "__name__", "a function"))}
    if isinstance(inner, LlmReference) and (late := _describe_late(inner, write_path)) is not None:
        return late
    inner_kind = type(inner)
    kind = next((name for name, make in kinds.items() if make is inner_kind), None) or _find_name(
        inner_kind, inner_kind.__name__
    )
    return {"kind": kind, **_describe_fields(inner, inner_kind)}


def _describe_late(reference: LlmReference, write_path: WritePath) -> dict[str, Data] | None:
    if (port := LATE_KINDS.get(reference.late_kind)) is None:
        return None
    fields = port.load().describe(reference, write_path)
    if fields is None:
        return None
    settings = {name: to_jsonable_python(value) for name, value in fields.items() if value is not None}
    return {"kind": reference.late_kind, **settings}


def _find_name(value: object, label: str) -> str:
    if (name := find_import_path(value)) is None:
        raise ConfigurationError(f"no import finds {label}; define it in a module")
    return name


def _read_entry(
    entry: Data, scope: EntryScope, kinds: Mapping[str, EntryKind], default: str | None, late: Sequence[str] = ()
) -> tuple[str, EntryKind, dict[str, Data]]:
    if not isinstance(entry, dict):
        raise TypeError("it must be a mapping, such as `name: ...` with `description: ...` below it")
    kind = entry.get("kind", default)
    if not isinstance(kind, str):
        raise ConfigurationError(f"there is no kind {kind!r}; known: {', '.join((*kinds, *late))}")
    make = _find_kind(kind, scope, kinds, late)
    fields: dict[str, Data] = {name: value for name, value in entry.items() if name != "kind" and value is not None}
    return kind, make, fields


def _find_kind(kind: str, scope: EntryScope, kinds: Mapping[str, EntryKind], late: Sequence[str]) -> EntryKind:
    if kind in kinds or kind in late:
        scope.check_kind(kind)
        return kinds[kind] if kind in kinds else LATE_KINDS[kind].load().create
    if "." not in kind:
        all_kinds = (*kinds, *late)
        raise ConfigurationError(
            f"there is no kind {kind!r}; known: {', '.join(all_kinds)}{did_you_mean(kind, all_kinds)}"
        )
    try:
        factory = scope.names.find(kind)
    except NameProblem as error:
        raise ConfigurationError(str(error)) from error
    if not callable(factory):
        raise ConfigurationError(f"{kind!r} is neither a class nor a function")
    return factory


def _call(make: EntryKind, fields: Mapping[str, Data], scope: EntryScope) -> object:
    parameters = inspect.signature(make).parameters
    named = {_match_name(name, parameters): value for name, value in fields.items()}
    if refused := [name for name in named if name in _CODE_FIELDS.get(make, ())]:
        raise TypeError(f"only the code of a program can set {refused[0]!r}")
    inspect.signature(make).bind(**named)
    return make(**_create_adapter(make).validate_python(named, context=scope))


def _match_name(name: object, parameters: Mapping[str, object]) -> str:
    """Return the name of a parameter, which entries may write as in JSON: `usageNotes`."""
    text = str(name)
    snake = _CAPITAL.sub(lambda match: f"_{match[1].lower()}", text)
    return snake if text not in parameters and snake in parameters else text


@lru_cache(maxsize=256)
def _create_adapter(make: EntryKind) -> TypeAdapter[dict[str, object]]:
    """Return the validator of the parameters of a kind."""
    hints = _read_hints(make)
    fields = {name: NotRequired[hints.get(name, object)] for name in inspect.signature(make).parameters}
    kind = TypedDict("EntryFields", fields)  # type: ignore[misc]
    kind.__pydantic_config__ = ConfigDict(arbitrary_types_allowed=True, extra="allow")  # type: ignore[attr-defined]
    return TypeAdapter(cast("type[dict[str, object]]", kind))


def _read_hints(make: EntryKind) -> dict[str, object]:
    """Return the annotations of a kind; nothing, where they cannot be read and its own code has to check."""
    constructor: Callable[..., object] = getattr(make, "__init__")  # noqa: B009 - mypy reads it as an instance's
    try:
        return resolve_hints(constructor if isinstance(make, type) else make, {})
    except DeclarationError:
        return {}


def _describe_fields(value: object, kind: type) -> dict[str, Data]:
    hints = _read_hints(kind)
    fields: dict[str, Data] = {}
    for name, parameter in inspect.signature(kind).parameters.items():
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
            continue
        field_value: object = getattr(value, name, getattr(value, f"_{name}", parameter.empty))
        if field_value is parameter.empty:
            raise ConfigurationError(f"{kind.__name__}: no attribute {name!r} has the argument of that name")
        if field_value == parameter.default:
            continue
        if name in _CODE_FIELDS.get(kind, ()) or _is_code_only(hints.get(name)):
            raise ConfigurationError(f"{kind.__name__}: {name!r} has no JSON form")
        try:
            fields[name] = cast("JsonValue", to_jsonable_python(field_value))
        except PydanticSerializationError as error:
            raise ConfigurationError(f"{kind.__name__}: {name!r} has no JSON form") from error
    return fields


def _is_code_only(hint: object) -> bool:
    return get_origin(hint) is Annotated and CODE_ONLY in get_args(hint)
