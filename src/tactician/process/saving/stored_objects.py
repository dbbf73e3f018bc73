"""Objects of blackboards as JSON, and back.

Objects are stored under the names of their types, and come back only as types that the agent knows: no class is
imported because a stored name says so.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, TypeVar, cast

import pydantic

from tactician.errors import StoredStateError
from tactician.grammar import add_article
from tactician.process.agent.spec import PlannedAgentSpec
from tactician.process.board.board_changes import Entry
from tactician.process.objects import Rejection
from tactician.process.stored_types import SavedObject, list_stored_names, type_name, upgrade_object, version_of
from tactician.runs.values.stored_values import decode_value, encode_value

T = TypeVar("T")
_PLAIN: Final[Mapping[str, type]] = {
    name: kind for kind in (str, int, float, bool, list, dict, Rejection) for name in list_stored_names(kind)
}


def encode_object(value: object, agent: PlannedAgentSpec) -> SavedObject:
    """Return an object as JSON that `decode_object` reads back, for the agent, as an equal object.

    Raises:
        StoredStateError: when the object has no JSON form or would be read back differently, or when the agent does
            not know its type.
    """
    kind = type(value)
    declared = _find_agent(kind, agent).generics.get(kind, kind)
    return _describe(kind, encode_value(value, declared))


def encode_alone(value: object) -> SavedObject:
    """Return an object as JSON, for any agent that knows its class.

    Raises:
        StoredStateError: when the object has no JSON form, or would be read back differently.
    """
    return _describe(type(value), encode_value(value, type(value)))


def decode_as(saved: SavedObject, kind: type[T]) -> T | None:
    """Return the object that was saved, if it is one of a class; `None` for an object of any other class.

    Raises:
        StoredStateError: when the object is no longer valid.
    """
    if saved["type"] not in list_stored_names(kind):
        return None
    plain = upgrade_object(kind, saved.get("version", 1), saved["value"])
    return cast("T", decode_value(plain, kind))


def decode_object(saved: SavedObject, agent: PlannedAgentSpec) -> object:
    """Return the object that was saved, for an agent that knows its type.

    Raises:
        StoredStateError: when the agent does not know the type, or the object is no longer valid.
    """
    return decode_entry(saved, agent).value


def decode_entry(saved: SavedObject, agent: PlannedAgentSpec) -> Entry:
    """Return the object that was saved, and how it is saved now.

    Raises:
        StoredStateError: as `decode_object`.
    """
    name = saved["type"]
    if (kind := _find_kind(name, agent)) is None:
        agent_types = ", ".join(sorted({type_name(agent_types) for agent_types in agent.types.values()})) or "none"
        raise StoredStateError(
            f"The store holds an object of the type {name!r}, which the agent does not know; it knows: {agent_types}. "
            "Import the module of the type first; when it was renamed or moved, say so with @formerly."
        )
    version, newest = saved.get("version", 1), version_of(kind)
    plain = saved["value"] if version == newest else upgrade_object(kind, version, saved["value"])
    try:
        value = decode_value(plain, agent.generics.get(kind, kind))
    except StoredStateError as error:
        raise StoredStateError(f"The store holds {add_article(name)} that is not valid: {error}") from error
    is_current = version == newest and name == type_name(kind)
    return Entry(value, saved=saved if is_current else _describe(kind, plain))


def _describe(kind: type, plain: pydantic.JsonValue) -> SavedObject:
    saved = SavedObject(type=type_name(kind), value=plain)
    if (version := version_of(kind)) > 1:
        saved["version"] = version
    return saved


def _find_kind(name: str, agent: PlannedAgentSpec) -> type | None:
    return agent.types.get(name) or _PLAIN.get(name)


def _find_agent(kind: type, agent: PlannedAgentSpec) -> PlannedAgentSpec:
    """Return the agent that finds a type by its name: it may be read again, for classes loaded meanwhile.

    Raises:
        StoredStateError: when the agent does not know the type.
    """
    name = type_name(kind)
    if _find_kind(name, agent) is kind:
        return agent
    if _find_kind(name, fresh := agent.refresh()) is kind:
        return fresh
    raise StoredStateError(
        f"`{kind.__name__}` cannot be stored: nothing that {agent.name} declares names the type {name}, so it could "
        "not be read again. Name it as a parameter, or as what an action returns, or keep it off the blackboard."
    )
