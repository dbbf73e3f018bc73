"""Objects of blackboards as JSON, and back.

Objects are stored under the names of their types, and come back only as types that the agent knows: no class is
imported because a stored name says so.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from functools import cache
from typing import Final, NotRequired, cast

from pydantic import JsonValue, TypeAdapter, ValidationError
from pydantic.errors import PydanticSchemaGenerationError
from pydantic_core import PydanticSerializationError, to_json
from typing_extensions import TypedDict

from tactician.errors import StoredStateError
from tactician.process.blackboard import Blackboard, Entry, Rejection
from tactician.process.spec import PlannedAgentSpec
from tactician.process.stored_types import type_name, upgrade_object, version_of

_PLAIN: Final[Mapping[str, type]] = {type_name(kind): kind for kind in (str, int, float, bool, list, dict, Rejection)}


class SavedObject(TypedDict):
    """Object as JSON, with the name and the version of its type. Version 1 may be missing."""

    type: str
    version: NotRequired[int]
    value: JsonValue


class SavedEntry(SavedObject):
    """Object of a blackboard as JSON."""

    binding: str
    hidden: bool


def encode_object(value: object, agent: PlannedAgentSpec) -> SavedObject:
    """Return an object as JSON that can be read again for the agent.

    Raises:
        StoredStateError: when the object has no JSON form, or the agent does not know its type.
    """
    kind = type(value)
    _check_known(value, agent)
    saved = SavedObject(type=type_name(kind), value=_dump(value))
    if (version := version_of(kind)) > 1:
        saved["version"] = version
    return saved


def decode_object(saved: SavedObject, agent: PlannedAgentSpec) -> object:
    """Return the object that was saved, for an agent that knows its type.

    Raises:
        StoredStateError: when the agent does not know the type, or the object is no longer valid.
    """
    name, types = saved["type"], agent.types
    if (kind := types.get(name) or _PLAIN.get(name)) is None:
        known = ", ".join(sorted(types)) or "none"
        raise StoredStateError(
            f"The snapshot holds an object of the type {name!r}, which the agent does not know; it knows: {known}. "
            "Import the module of the type first; when it was renamed or moved, say so with @formerly."
        )
    value = upgrade_object(kind, saved.get("version", 1), saved["value"])
    try:
        return _type_adapter(agent.generics.get(kind, kind)).validate_json(to_json(value))
    except ValidationError as error:
        raise StoredStateError(f"The snapshot holds a {name} that is not valid: {error}") from error


def check_objects(board: Blackboard, agent: PlannedAgentSpec) -> None:
    """Check that all objects of a blackboard can be saved, and read again for the agent.

    Raises:
        StoredStateError: when one cannot.
    """
    save_objects(board, agent)


def save_objects(board: Blackboard, agent: PlannedAgentSpec) -> list[SavedEntry]:
    """Return all objects of a blackboard as JSON that can be read again for the agent.

    Raises:
        StoredStateError: when one has no JSON form, or the agent does not know its type.
    """
    return [
        SavedEntry(**encode_object(entry.value, agent), binding=entry.binding, hidden=entry.hidden)
        for entry in board.entries
    ]


def restore_blackboard(
    objects: Iterable[SavedEntry], conditions: Mapping[str, bool], agent: PlannedAgentSpec
) -> Blackboard:
    """Restore a blackboard that was saved, for an agent that knows the types of its objects.

    Raises:
        StoredStateError: when the agent does not know a type, or an object is no longer valid.
    """
    entries = (Entry(decode_object(one, agent), one["binding"], one["hidden"]) for one in objects)
    return Blackboard.of(entries, conditions)


def _check_known(value: object, agent: PlannedAgentSpec) -> None:
    kind = type(value)
    if not (agent.knows(value) or kind in _PLAIN.values() or agent.refresh().knows(value)):
        raise StoredStateError(
            f"{type_name(kind)} on the blackboard could not be read again from a store: nothing that {agent.name} "
            "declares names this type. Name it as a parameter, or as what an action returns, or keep it off the "
            "blackboard."
        )


def _dump(value: object) -> JsonValue:
    try:
        plain: JsonValue = _type_adapter(cast(Hashable, type(value))).dump_python(value, mode="json")
    except (PydanticSchemaGenerationError, PydanticSerializationError, ValueError, TypeError, RecursionError) as error:
        raise StoredStateError(
            f"{type_name(type(value))} on the blackboard has no JSON form: make it a dataclass or a pydantic model, or "
            f"keep it off the blackboard ({str(error).splitlines()[0]})"
        ) from error
    return plain


@cache
def _type_adapter(kind: Hashable) -> TypeAdapter[object]:
    return TypeAdapter(kind)  # type: ignore[arg-type]  # a type, which is hashable
