"""Memories: findings that processes with the same memory id pass on."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import Final, TypeAlias

from pydantic import TypeAdapter, ValidationError
from pydantic_core import to_json

from tactician.errors import DocumentConflictError, StoredStateError
from tactician.process import (
    AgentProcess,
    Blackboard,
    Entry,
    PlannedAgentSpec,
    Rejection,
    SavedEntry,
    UserInput,
    decode_entry,
    encode_entry,
)
from tactician.runs import find_difference
from tactician.stores import DocumentStore, StoredDocument

_COLLECTION: Final = "memories"
_ATTEMPTS: Final = 5
_Finding: TypeAlias = SavedEntry | Entry


@dataclass(frozen=True, slots=True)
class _Memory:
    """Body of a stored memory.

    Attributes:
        findings: what processes have found; that of processes that are not saved stays the same object.
        agent: agent of the last process.
    """

    findings: tuple[_Finding, ...]
    agent: PlannedAgentSpec

    def to_json(self) -> str:
        """Return the findings as JSON text.

        Raises:
            StoredStateError: when one could not be read again.
        """
        return to_json(
            [encode_entry(one, self.agent) if isinstance(one, Entry) else one for one in self.findings]
        ).decode()


async def recall(store: DocumentStore, memory_id: str, agent: PlannedAgentSpec, board: Blackboard) -> Blackboard:
    """Return a blackboard with the objects of a memory whose types the agent knows, followed by those of the board.

    The results of the agent's goals are left out: the process has to produce its own.

    Raises:
        StoredStateError: when the memory cannot be read.
    """
    results = tuple(_result_types(agent))
    found = (_restore(one, agent) for one in _read(await store.load(_COLLECTION, memory_id)))
    known = (entry for entry in found if entry is not None and not isinstance(entry.value, results))
    return Blackboard.of((*known, *board.entries), board.conditions)


async def remember(store: DocumentStore, memory_id: str, process: AgentProcess) -> None:
    """Add the findings of a process to a memory: what is visible on its blackboard and not in the memory yet.

    Leaves out what people typed, and the result, which the next process has to produce itself.

    Raises:
        DocumentConflictError: when others keep changing the memory.
    """
    fresh = list(_find_fresh(process))
    for attempt in range(_ATTEMPTS):
        stored = await store.load(_COLLECTION, memory_id)
        known = _read(stored)
        added = [one for one in fresh if not any(_is_same(one, other) for other in known)]
        memory = _Memory((*known, *added), process.agent)
        version = 0 if stored is None else stored.version
        try:
            await store.save(StoredDocument(collection=_COLLECTION, id=memory_id, body=memory, version=version))
        except DocumentConflictError:
            if attempt + 1 == _ATTEMPTS:
                raise
        else:
            return


def _find_fresh(process: AgentProcess) -> Iterator[_Finding]:
    result = process.result
    for entry in process.blackboard.entries:
        if not entry.hidden and entry.value is not result and not isinstance(entry.value, UserInput | Rejection):
            yield entry if entry.saved is None else encode_entry(entry, process.agent)


def _is_same(one: _Finding, other: _Finding) -> bool:
    if isinstance(one, Entry) and isinstance(other, Entry):
        with suppress(RecursionError):  # of objects that contain themselves
            return one.binding == other.binding and find_difference(one.value, other.value) is None
        return False
    return one == other


def _restore(finding: _Finding, agent: PlannedAgentSpec) -> Entry | None:
    """Return a finding as an object; `None` when the agent does not know its type."""
    if isinstance(finding, Entry):
        return finding if agent.knows(finding.value) else None
    return decode_entry(finding, agent) if finding["type"] in agent.types else None


def _result_types(agent: PlannedAgentSpec) -> Iterator[type]:
    """Yield the types that keep the action of a goal from running when an object of the type is there."""
    for goal in agent.goals:
        action = agent.action(goal.name)
        if action.plan.pre.get(action.condition_ran) is False:
            taken = (*action.input_types, *action.optional_types)
            yield from (kind for kind in goal.output_types if not any(issubclass(one, kind) for one in taken))


def _read(stored: StoredDocument | None) -> tuple[_Finding, ...]:
    if stored is None:
        return ()
    if isinstance(stored.body, _Memory):
        return stored.body.findings
    try:
        return tuple(TypeAdapter(list[SavedEntry]).validate_json(stored.text))
    except ValidationError as error:
        raise StoredStateError(f"The memory {stored.id!r} cannot be read: {error}") from error
