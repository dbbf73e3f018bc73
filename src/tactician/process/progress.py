"""Progress of a process in its checkpoint: what it has done, step by step, as data that has a JSON form."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import cache, partial
from typing import Literal, TypeVar, cast

import pydantic
from typing_extensions import TypedDict

from tactician.errors import StoredStateError
from tactician.frozen import frozen
from tactician.process.acting import Execution
from tactician.process.blackboard import Blackboard, BoardChange
from tactician.process.options import ProcessOptions
from tactician.process.saved_parts import (
    SavedOptions,
    SavedRun,
    restore_history,
    restore_options,
    save_history,
    save_options,
)
from tactician.process.spec import PlannedAgentSpec
from tactician.process.state import ActionRun, Order, ProcessState, ProcessStatus, WaitingAction
from tactician.process.stored_objects import decode_entry, encode_object
from tactician.process.stored_types import SavedObject
from tactician.runs import Changes, Data, Live, PendingRequest, restore_response, revive, save_response

T = TypeVar("T")


class SavedOrigin(TypedDict):
    """Beginning of a process: what never changes."""

    id: str
    agent: str
    began_at: float
    options: SavedOptions
    recipe: dict[str, pydantic.JsonValue] | None


class SavedState(TypedDict):
    """Everything of a process that is small enough to be saved with each step."""

    status: ProcessStatus
    goal: str | None
    failure: str | None
    declined: str | None
    waiting: dict[str, tuple[PendingRequest, ...]]
    responses: dict[str, object]
    unstickings: int
    replans: int
    order: Order


class SavedChange(TypedDict):
    """Change of a blackboard."""

    kind: Literal["add", "move", "hide", "show", "clear", "condition"]
    numbers: tuple[int, ...]
    name: str
    value: object


class ProcessProgress:
    """Live state of a process, as its checkpoint keeps it.

    Args:
        execution: everything that the steps of the process work with.
        saved_runs: number of entries of the history that the checkpoint has already.
    """

    __slots__ = ("_execution", "_has_origin", "_saved_runs")

    def __init__(self, execution: Execution, saved_runs: int | None = None) -> None:
        self._execution = execution
        self._has_origin = saved_runs is not None
        self._saved_runs = saved_runs or 0

    def to_data(self) -> Data:
        """Return all of it."""
        state = self._execution.state
        return {
            "origin": self._origin,
            "state": self._state,
            "board": [self._save_change(change) for change in state.blackboard.to_changes()],
            "history": [Live(run, _save_run) for run in state.history],
        }

    def take_changes(self) -> Changes:
        """Return what has changed since the last call."""
        state = self._execution.state
        new = state.history[self._saved_runs :]
        self._saved_runs = len(state.history)
        board: list[object] = [self._save_change(change) for change in state.blackboard.take_changes()]
        extend: dict[str, list[object]] = {}
        if board:
            extend["board"] = board
        if new:
            extend["history"] = [Live(run, _save_run) for run in new]
        changed: Data = {"state": self._state}
        if not self._has_origin:
            self._has_origin, changed["origin"] = True, self._origin
        return Changes(changed, extend)

    @property
    def _origin(self) -> object:
        execution = self._execution
        state, recipe = execution.state, execution.agent.recipe
        return save_origin(
            ProcessOrigin(execution.process.id, execution.agent.name, state.began_at, recipe, execution.options)
        )

    @property
    def _state(self) -> object:
        state = self._execution.state
        return SavedState(
            status=state.status,
            goal=None if state.goal is None else state.goal.name,
            failure=state.failure,
            declined=None if state.declined is None else state.declined.name,
            waiting={name: action.pending for name, action in state.waiting.items()},
            responses={name: save_response(response) for name, response in state.responses.items()},
            unstickings=state.unstickings,
            replans=state.replans,
            order=state.order.copy(),
        )

    def _save_change(self, change: BoardChange) -> SavedChange:
        # A live object must not keep the process: a store in memory has it for long.
        encode = partial(_encode, self._execution.agent, change.saved)
        value = Live(change.value, encode) if change.kind == "add" else change.value
        return SavedChange(kind=change.kind, numbers=change.numbers, name=change.name, value=value)


@frozen
class ProcessOrigin:
    """Beginning of a process, as it was stored: what never changes."""

    id: str
    agent: str
    began_at: float
    recipe: Mapping[str, pydantic.JsonValue] | None
    _options: ProcessOptions | SavedOptions

    @property
    def options(self) -> ProcessOptions:
        """The settings of the process.

        Raises:
            StoredStateError: when they are not valid.
        """
        return self._options if isinstance(self._options, ProcessOptions) else restore_options(self._options)


@frozen
class RestoredProcess:
    """Process as its checkpoint has it."""

    state: ProcessState
    options: ProcessOptions


def restore_process(
    data: Mapping[str, object], agent: PlannedAgentSpec, options: ProcessOptions | None = None
) -> RestoredProcess:
    """Restore a process from the data of its checkpoint. A process that was running must be started again.

    Args:
        data: the data.
        agent: description of the agent.
        options: settings to use instead of those that the process was saved with.

    Raises:
        StoredStateError: when the data cannot be read, or the agent does not know what it holds.
    """
    saved = read_state(data)
    known = {action.name for action in agent.actions} | {goal.name for goal in agent.goals}
    named = {*saved["waiting"], saved["declined"], saved["goal"]} - {None}
    if missing := {str(name) for name in named} - known:
        raise StoredStateError(f"The saved process names what {agent.name} does not have: {', '.join(sorted(missing))}")
    declined, goal = saved["declined"], saved["goal"]
    origin = read_origin(data)
    state = ProcessState(
        Blackboard.replay(_decode_objects(read_board(data), agent)),
        saved["status"],
        None if goal is None else agent.goal(goal),
        saved["failure"],
        read_history(data),
        None if declined is None else agent.action(declined).plan,
        {name: WaitingAction(pending) for name, pending in saved["waiting"].items()},
        {name: restore_response(response) for name, response in saved["responses"].items()},
        saved["unstickings"],
        saved["replans"],
        order=saved["order"].copy(),  # a store in memory has that very object
        began_at=origin.began_at,
    )
    return RestoredProcess(state, options or origin.options)


def is_process(data: Mapping[str, object]) -> bool:
    """Return whether the data of a checkpoint is that of a process."""
    return "origin" in data


def read_state(data: Mapping[str, object]) -> SavedState:
    """Return the small part of the state of a process.

    Raises:
        StoredStateError: when it cannot be read.
    """
    return revive(data.get("state"), _state_adapter().validate_python)


def read_history(data: Mapping[str, object]) -> list[ActionRun]:
    """Return the history of a process.

    Raises:
        StoredStateError: when it cannot be read.
    """
    items = _items(data.get("history"))
    saved = iter(restore_history(_revive_all(items, _history_adapter())))
    return [cast("ActionRun", item.value) if isinstance(item, Live) else next(saved) for item in items]


def read_origin(data: Mapping[str, object]) -> ProcessOrigin:
    """Return the beginning of a process.

    Raises:
        StoredStateError: when it cannot be read.
    """
    return revive(data.get("origin"), _read_origin)


def save_origin(origin: ProcessOrigin) -> Live[ProcessOrigin]:
    """Return the beginning of a process as a value of its checkpoint."""
    return Live(origin, _write_origin)


def _read_origin(value: object) -> ProcessOrigin:
    saved = _origin_adapter().validate_python(value)
    return ProcessOrigin(saved["id"], saved["agent"], saved["began_at"], saved["recipe"], saved["options"])


def read_board(data: Mapping[str, object]) -> list[BoardChange]:
    """Return the changes of the blackboard of a process; objects are as they are stored.

    Raises:
        StoredStateError: when they cannot be read.
    """
    changes = _revive_all(_items(data.get("board")), _changes_adapter())
    return [BoardChange(change["kind"], change["numbers"], change["value"], change["name"]) for change in changes]


def _decode_objects(changes: list[BoardChange], agent: PlannedAgentSpec) -> Iterator[BoardChange]:
    """Yield the changes of a blackboard with the objects of an agent."""
    saved = iter(_revive_all((change.value for change in changes if change.kind == "add"), _objects_adapter()))
    for change in changes:
        if change.kind != "add":
            yield change
        elif isinstance(live := change.value, Live):
            yield BoardChange("add", change.numbers, live.value, change.name)
        else:
            entry = decode_entry(next(saved), agent)
            yield BoardChange("add", change.numbers, entry.value, change.name, entry.saved)


def _revive_all(items: Iterable[object], adapter: pydantic.TypeAdapter[list[T]]) -> list[T]:
    """Return the objects that those of some items mean that are JSON, read all at once.

    Raises:
        StoredStateError: when an object is not valid.
    """
    return revive([item for item in items if not isinstance(item, Live)], adapter.validate_python)


def _encode(agent: PlannedAgentSpec, saved: SavedObject | None, value: object) -> SavedObject:
    return encode_object(value, agent) if saved is None else saved


def _items(value: object) -> list[object]:
    """Return the items of a list of the data, which is missing while nothing was added to it."""
    if value is None or isinstance(value, list):
        return value or []
    raise StoredStateError(f"The saved state of the process cannot be read: {type(value).__name__} instead of a list.")


def _save_run(run: ActionRun) -> SavedRun:
    return save_history([run])[0]


def _write_origin(origin: ProcessOrigin) -> SavedOrigin:
    return SavedOrigin(
        id=origin.id,
        agent=origin.agent,
        began_at=origin.began_at,
        options=save_options(origin.options),
        recipe=None if origin.recipe is None else dict(origin.recipe),
    )


@cache
def _origin_adapter() -> pydantic.TypeAdapter[SavedOrigin]:
    return pydantic.TypeAdapter(SavedOrigin)


@cache
def _state_adapter() -> pydantic.TypeAdapter[SavedState]:
    return pydantic.TypeAdapter(SavedState)


@cache
def _changes_adapter() -> pydantic.TypeAdapter[list[SavedChange]]:
    return pydantic.TypeAdapter(list[SavedChange])


@cache
def _objects_adapter() -> pydantic.TypeAdapter[list[SavedObject]]:
    return pydantic.TypeAdapter(list[SavedObject])


@cache
def _history_adapter() -> pydantic.TypeAdapter[list[SavedRun]]:
    return pydantic.TypeAdapter(list[SavedRun])
