"""Memories: findings that processes with the same memory id pass on."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final, cast

from pydantic import TypeAdapter, ValidationError
from pydantic_core import to_json

from tactician.errors import DocumentConflictError, StoredStateError
from tactician.frozen import frozen
from tactician.process import (
    AgentProcess,
    Blackboard,
    Entry,
    PlannedAgentSpec,
    Rejection,
    SavedObject,
    UserInput,
    decode_object,
    encode_object,
)
from tactician.runs import Live
from tactician.stores import DocumentStore, StoredDocument, translate_json_errors

_COLLECTION: Final = "memories"
_ATTEMPTS: Final = 5


class SavedFinding(SavedObject):
    """Object of a memory as JSON, with the name that it is bound to."""

    binding: str


@frozen
class _Finding:
    """Object of a memory: itself, in a store that keeps objects, or its JSON form."""

    value: Live[object] | SavedObject
    binding: str

    def to_saved(self) -> SavedFinding:
        saved = cast("SavedObject", self.value.encode()) if isinstance(self.value, Live) else self.value
        return SavedFinding(**saved, binding=self.binding)

    def recall(self, agent: PlannedAgentSpec) -> Entry | None:
        """Return the object, if the agent knows its type."""
        if isinstance(self.value, Live):
            return Entry(self.value.value, self.binding) if agent.knows(self.value.value) else None
        if self.value["type"] not in agent.types:
            return None
        return Entry(decode_object(self.value, agent), self.binding)


@frozen
class _Memory:
    """All objects of a memory, as the body of its document."""

    findings: tuple[_Finding, ...] = ()

    def to_json(self) -> str:
        return to_json([finding.to_saved() for finding in self.findings]).decode()

    def add(self, fresh: Sequence[_Finding]) -> _Memory:
        """Return the memory with what is not in it yet."""
        known = [_identify(finding) for finding in self.findings]
        return _Memory((*self.findings, *(finding for finding in fresh if _identify(finding) not in known)))


async def recall(store: DocumentStore, memory_id: str, agent: PlannedAgentSpec, board: Blackboard) -> Blackboard:
    """Return a blackboard with the objects of a memory whose types the agent knows, followed by those of the board.

    The results of the agent's goals are left out: the process has to produce its own.

    Raises:
        StoredStateError: when the memory cannot be read.
    """
    memory, results = _read(await store.load(_COLLECTION, memory_id)), tuple(_result_types(agent))
    recalled = (entry for finding in memory.findings if (entry := finding.recall(agent)) is not None)
    entries = (entry for entry in recalled if not isinstance(entry.value, results))
    return Blackboard.of((*entries, *board.entries), board.conditions)


async def remember(store: DocumentStore, memory_id: str, process: AgentProcess) -> None:
    """Add the findings of a process to a memory: what is visible on its blackboard and not in the memory yet.

    Leaves out what people typed, and the result, which the next process has to produce itself.

    Raises:
        DocumentConflictError: when others keep changing the memory.
        StoredStateError: when an object has no JSON form, unless the store keeps objects as they are.
    """
    result, agent = process.result, process.agent
    fresh = [
        _Finding(_keep(entry.value, agent, store), entry.binding)
        for entry in process.blackboard.entries
        if not entry.hidden and entry.value is not result and not isinstance(entry.value, UserInput | Rejection)
    ]
    for attempt in range(_ATTEMPTS):
        stored = await store.load(_COLLECTION, memory_id)
        memory = _read(stored).add(fresh)
        with translate_json_errors(f"The memory {memory_id!r}"):
            body = memory if store.keeps_objects else memory.to_json()
        version = 0 if stored is None else stored.version
        try:
            await store.save(StoredDocument(collection=_COLLECTION, id=memory_id, body=body, version=version))
        except DocumentConflictError:
            if attempt + 1 == _ATTEMPTS:
                raise
        else:
            return


def _keep(value: object, agent: PlannedAgentSpec, store: DocumentStore) -> Live[object] | SavedObject:
    def encode(live: object) -> object:
        return encode_object(live, agent)

    return Live(value, encode) if store.keeps_objects else encode_object(value, agent)


def _identify(finding: _Finding) -> tuple[object, str]:
    value = finding.value.value if isinstance(finding.value, Live) else finding.value
    return (value, finding.binding)


def _result_types(agent: PlannedAgentSpec) -> Iterator[type]:
    """Yield the types that keep the action of a goal from running when an object of the type is there."""
    for goal in agent.goals:
        action = agent.action(goal.name)
        if action.plan.pre.get(action.condition_ran) is False:
            taken = (*action.input_types, *action.optional_types)
            yield from (kind for kind in goal.output_types if not any(issubclass(other, kind) for other in taken))


def _read(stored: StoredDocument | None) -> _Memory:
    if stored is None:
        return _Memory()
    if isinstance(stored.body, _Memory):
        return stored.body
    try:
        saved = TypeAdapter(list[SavedFinding]).validate_json(stored.text)
    except ValidationError as error:
        raise StoredStateError(f"The memory {stored.id!r} cannot be read: {error}") from error
    return _Memory(tuple(_Finding(_without_place(entry), entry["binding"]) for entry in saved))


def _without_place(entry: SavedFinding) -> SavedObject:
    saved = SavedObject(type=entry["type"], value=entry["value"])
    if "version" in entry:
        saved["version"] = entry["version"]
    return saved
