"""Memories: findings that processes with the same memory id pass on."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Final, TypeVar, cast

from pydantic import TypeAdapter, ValidationError
from pydantic_core import to_json

from tactician.errors import DocumentConflictError, StoredStateError
from tactician.frozen import frozen
from tactician.llm import AssistantMessage, UserMessage
from tactician.process import AgentProcess, Blackboard, Rejection, UserInput
from tactician.process.agent.spec import PlannedAgentSpec
from tactician.process.board.board_changes import Entry
from tactician.process.objects import DEFAULT_BINDING
from tactician.process.saving.stored_objects import decode_as, decode_object, encode_alone, encode_object
from tactician.process.stored_types import SavedObject
from tactician.runs.progress.checkpoint import Live
from tactician.stores import DocumentStore
from tactician.stores.checks import translate_json_errors
from tactician.stores.document import StoredDocument

T = TypeVar("T")
_COLLECTION: Final = "memories"
_ATTEMPTS: Final = 5
_NOT_REMEMBERED: Final = (UserInput, Rejection, UserMessage, AssistantMessage)


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

    def read(self, kind: type[T]) -> T | None:
        """Return the object, if it is one of a class."""
        if isinstance(self.value, Live):
            return self.value.value if isinstance(self.value.value, kind) else None
        return decode_as(self.value, kind)

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

    def without(self, kind: type) -> _Memory:
        """Return the memory without the objects of a class."""
        return _Memory(tuple(finding for finding in self.findings if finding.read(kind) is None))

    def add(self, fresh: Sequence[_Finding]) -> _Memory:
        """Return the memory with what is not in it yet."""
        finding_keys = [_identify(finding) for finding in self.findings]
        return _Memory((*self.findings, *(finding for finding in fresh if _identify(finding) not in finding_keys)))


class Memories:
    """Memories of a platform, by their ids: those that processes with a `memory_id` recall and add to.

    Args:
        store: store of the memories.
    """

    def __init__(self, store: DocumentStore) -> None:
        self._store = store

    async def read(self, memory_id: str, kind: type[T]) -> list[T]:
        """Return the objects of a class in a memory, oldest first.

        Raises:
            StoredStateError: when the memory cannot be read.
        """
        memory = _read(await self._store.load(_COLLECTION, memory_id))
        values = (finding.read(kind) for finding in memory.findings)
        return [value for value in values if value is not None]

    async def seed(self, memory_id: str, *objects: object) -> None:
        """Add objects to a memory, or begin the memory with them: all that is not in it yet.

        Raises:
            DocumentConflictError: when others keep changing the memory.
            StoredStateError: when an object has no JSON form, or would be read back differently.
        """
        is_live = self._store.keeps_objects
        fresh = [
            _Finding(Live(value, encode_alone) if is_live else encode_alone(value), DEFAULT_BINDING)
            for value in objects
        ]
        await _change(self._store, memory_id, lambda known: known.add(fresh))

    async def forget(self, memory_id: str, kind: type | None = None) -> bool:
        """Delete a memory, or the objects of a class in it, and return whether there was anything to delete.

        Raises:
            DocumentConflictError: when others keep changing the memory.
        """
        if kind is None:
            return await self._store.delete(_COLLECTION, memory_id)
        forgotten: list[object] = await self.read(memory_id, kind)
        await _change(self._store, memory_id, lambda known: known.without(kind))
        return bool(forgotten)

    async def list_ids(self) -> tuple[str, ...]:
        """Return the ids of all memories, oldest first."""
        return tuple(await self._store.list_ids(_COLLECTION))


async def recall(store: DocumentStore, memory_id: str, agent: PlannedAgentSpec, board: Blackboard) -> Blackboard:
    """Return a blackboard with the objects of a memory whose types the agent knows, followed by the board's objects.

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
        if not entry.hidden and entry.value is not result and not isinstance(entry.value, _NOT_REMEMBERED)
    ]
    if fresh:
        await _change(store, memory_id, lambda known: known.add(fresh))


async def _change(store: DocumentStore, memory_id: str, change: Callable[[_Memory], _Memory]) -> None:
    """Change a memory, and save it unless it is as before.

    Raises:
        DocumentConflictError: when others keep changing the memory.
        StoredStateError: when an object has no JSON form, unless the store keeps objects as they are.
    """
    for attempt in range(_ATTEMPTS):
        stored = await store.load(_COLLECTION, memory_id)
        stored_memory = _read(stored)
        memory = change(stored_memory)
        if len(memory.findings) == len(stored_memory.findings):
            return
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
