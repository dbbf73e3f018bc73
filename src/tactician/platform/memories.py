"""Memories: findings that processes with the same memory id pass on."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from pydantic import TypeAdapter, ValidationError
from pydantic_core import to_json

from tactician.errors import DocumentConflictError, StoredStateError
from tactician.process import (
    AgentProcess,
    Blackboard,
    PlannedAgentSpec,
    Rejection,
    SavedEntry,
    UserInput,
    restore_blackboard,
    save_objects,
)
from tactician.stores import DocumentStore, StoredDocument, translate_json_errors

_COLLECTION: Final = "memories"
_ATTEMPTS: Final = 5


async def recall(store: DocumentStore, memory_id: str, agent: PlannedAgentSpec, board: Blackboard) -> Blackboard:
    """Return a blackboard with the objects of a memory whose types the agent knows, followed by those of the board.

    The results of the agent's goals are left out: the process has to produce its own.

    Raises:
        StoredStateError: when the memory cannot be read.
    """
    saved = _objects(await store.load(_COLLECTION, memory_id))
    known = [one for one in saved if one["type"] in agent.types]
    recalled, results = restore_blackboard(known, {}, agent), tuple(_result_types(agent))
    entries = (entry for entry in recalled.entries if not isinstance(entry.value, results))
    return Blackboard.of((*entries, *board.entries), board.conditions)


async def remember(store: DocumentStore, memory_id: str, process: AgentProcess) -> None:
    """Add the findings of a process to a memory: what is visible on its blackboard and not in the memory yet.

    Leaves out what people typed, and the result, which the next process has to produce itself.

    Raises:
        DocumentConflictError: when others keep changing the memory.
    """
    result = process.result
    typed = UserInput | Rejection
    findings = [e for e in process.blackboard.entries if e.value is not result and not isinstance(e.value, typed)]
    fresh = [one for one in save_objects(Blackboard.of(findings, {}), process.agent) if not one["hidden"]]
    for attempt in range(_ATTEMPTS):
        stored = await store.load(_COLLECTION, memory_id)
        saved = _objects(stored)
        with translate_json_errors(f"The memory {memory_id!r}"):
            text = to_json([*saved, *(one for one in fresh if one not in saved)]).decode()
        version = 0 if stored is None else stored.version
        try:
            await store.save(StoredDocument(collection=_COLLECTION, id=memory_id, body=text, version=version))
        except DocumentConflictError:
            if attempt + 1 == _ATTEMPTS:
                raise
        else:
            return


def _result_types(agent: PlannedAgentSpec) -> Iterator[type]:
    """Yield the types that keep the action of a goal from running when an object of the type is there."""
    for goal in agent.goals:
        action = agent.action(goal.name)
        if action.plan.pre.get(action.condition_ran) is False:
            taken = (*action.input_types, *action.optional_types)
            yield from (kind for kind in goal.output_types if not any(issubclass(one, kind) for one in taken))


def _objects(stored: StoredDocument | None) -> list[SavedEntry]:
    if stored is None:
        return []
    try:
        return TypeAdapter(list[SavedEntry]).validate_json(stored.text)
    except ValidationError as error:
        raise StoredStateError(f"The memory {stored.id!r} cannot be read: {error}") from error
