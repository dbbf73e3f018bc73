"""A process as JSON, and back: so that it can go on in another process, on another machine.

Objects are stored under the names of their types, and come back only as types that the agent knows: no class is
imported because a stored name says so.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from functools import cache
from time import time
from typing import Final, Literal, NotRequired, cast

from pydantic import JsonValue, TypeAdapter, ValidationError
from pydantic.errors import PydanticSchemaGenerationError
from pydantic_core import PydanticSerializationError, from_json, to_json, to_jsonable_python
from typing_extensions import TypedDict

from tactician.errors import StoredStateError
from tactician.llm import Usage
from tactician.process.blackboard import Blackboard, Entry, Rejection
from tactician.process.names import type_name
from tactician.process.options import ProcessOptions
from tactician.process.ordering import Order
from tactician.process.performing import WaitingAction
from tactician.process.saved_history import SavedRun, restored_history, saved_history
from tactician.process.saved_options import SavedOptions, restored_options, saved_options
from tactician.process.spec import PlannedAgentSpec
from tactician.process.state import ProcessState
from tactician.process.status import ProcessStatus
from tactician.process.upgrading import upgraded_object, upgraded_snapshot, version_of
from tactician.runs import BudgetMeter, PendingRequest, SavedFrame

VERSION: Final = 2
_PLAIN: Mapping[str, type] = {type_name(kind): kind for kind in (str, int, float, bool, list, dict, Rejection)}


class SavedObject(TypedDict):
    """An object of a blackboard. `version` is that of its type, 1 where it is missing."""

    type: str
    version: NotRequired[int]
    value: JsonValue
    binding: str
    hidden: bool


class _SavedWaiting(TypedDict):
    frame: SavedFrame
    pending: list[PendingRequest]


class Snapshot(TypedDict):
    """All of a process."""

    version: Literal[2]
    agent: str
    status: ProcessStatus
    objects: list[SavedObject]
    conditions: dict[str, bool]
    history: list[SavedRun]
    declined: str | None
    waiting: dict[str, _SavedWaiting]
    responses: dict[str, JsonValue]
    usage: list[Usage]
    turns: int
    actions: int
    seconds: float
    unstickings: int
    goal: str | None
    failure: str | None
    options: SavedOptions
    recipe: NotRequired[dict[str, JsonValue] | None]
    replans: NotRequired[int]
    order: NotRequired[Order]
    began_at: NotRequired[float]


def written(
    state: ProcessState, agent: PlannedAgentSpec, options: ProcessOptions, usage: list[Usage], meter: BudgetMeter
) -> str:
    """A process as JSON text: its state, its options, what it used, and the recipe of its agent.

    Raises:
        StoredStateError: when an object on its blackboard has no JSON form, or could not be read again.
    """
    _check_known(state.blackboard, agent)
    snapshot = Snapshot(
        version=VERSION,
        agent=agent.name,
        status=state.status,
        objects=saved_objects(state.blackboard),
        conditions=dict(state.blackboard.conditions),
        history=saved_history(state.history),
        declined=None if state.declined is None else state.declined.name,
        waiting={name: _SavedWaiting(frame=w.frame, pending=list(w.pending)) for name, w in state.waiting.items()},
        responses={name: to_jsonable_python(response) for name, response in state.responses.items()},
        unstickings=state.unstickings,
        replans=state.replans,
        goal=None if state.goal is None else state.goal.name,
        failure=state.failure,
        options=saved_options(options),
        recipe=None if agent.recipe is None else dict(agent.recipe),
        usage=usage,
        turns=meter.turns,
        seconds=meter.seconds,
        actions=meter.actions,
        order=state.order,
        began_at=state.began_at,
    )
    return to_json(snapshot).decode()


def read(text: str | bytes) -> Snapshot:
    """The snapshot of an untrusted text, of this or an older version.

    Raises:
        StoredStateError: when it is none.
    """
    try:
        raw = from_json(text)
        return _adapter().validate_python(upgraded_snapshot(raw, VERSION) if isinstance(raw, dict) else raw)
    except (ValueError, ValidationError) as error:
        raise StoredStateError(f"The snapshot of the process cannot be read: {error}") from error


def check_objects(board: Blackboard, agent: PlannedAgentSpec) -> None:
    """Nothing, when all objects of a blackboard can be kept, and read again for the agent.

    Raises:
        StoredStateError: when one cannot.
    """
    _check_known(board, agent)
    saved_objects(board)


def saved_objects(board: Blackboard) -> list[SavedObject]:
    """All objects of a blackboard as JSON.

    Raises:
        StoredStateError: when one has no JSON form.
    """
    return [_saved_object(entry) for entry in board.entries]


def restored_board(objects: list[SavedObject], conditions: Mapping[str, bool], agent: PlannedAgentSpec) -> Blackboard:
    """The blackboard that was saved, for an agent that knows what is on it.

    Raises:
        StoredStateError: when a type is not one of those that may come back, or an object is no longer valid.
    """
    entries = (Entry(_object_of(one, agent), one["binding"], one["hidden"]) for one in objects)
    return Blackboard.of(entries, conditions)


def with_end(text: str, status: ProcessStatus, failure: str) -> str:
    """A snapshot of the same process, ended: needs no agent.

    Raises:
        StoredStateError: when the text is no snapshot.
    """
    ended: Snapshot = {**read(text), "status": status, "failure": failure, "waiting": {}, "responses": {}}
    return to_json(ended).decode()


def options_of(saved: Snapshot) -> ProcessOptions:
    """The options of a process that was saved; functions among them were not.

    Raises:
        StoredStateError: when they are not valid, or name a kind of error that is not known here.
    """
    return restored_options(saved["options"])


def state_of(saved: Snapshot, agent: PlannedAgentSpec) -> ProcessState:
    """The state of a process that was saved. One that was running has to be started again.

    Raises:
        StoredStateError: when the agent does not know what the snapshot holds.
    """
    known = {action.name for action in agent.actions} | {goal.name for goal in agent.goals}
    named = {*saved["waiting"], *filter(None, (saved["declined"], saved["goal"]))}
    if missing := named - known:
        raise StoredStateError(f"The snapshot names what {agent.name} does not have: {', '.join(sorted(missing))}")
    declined, goal = saved["declined"], saved["goal"]
    return ProcessState(
        restored_board(saved["objects"], saved["conditions"], agent),
        saved["status"],
        None if goal is None else agent.goal(goal),
        saved["failure"],
        restored_history(saved["history"]),
        None if declined is None else agent.action(declined).plan,
        {name: WaitingAction(one["frame"], tuple(one["pending"])) for name, one in saved["waiting"].items()},
        dict(saved["responses"]),
        saved["unstickings"],
        saved.get("replans", 0),
        order=saved.get("order") or Order(),
        began_at=saved.get("began_at") or time(),
    )


def _check_known(board: Blackboard, agent: PlannedAgentSpec) -> None:
    for entry in board.entries:
        kind = type(entry.value)
        if agent.knows(entry.value) or kind in _PLAIN.values() or agent.renewed().knows(entry.value):
            continue
        raise StoredStateError(
            f"{type_name(kind)} on the blackboard could not be read again from a store: nothing that {agent.name} "
            "declares names this type. Name it as a parameter, or as what an action returns, or keep it off the "
            "blackboard."
        )


def _saved_object(entry: Entry) -> SavedObject:
    kind = type(entry.value)
    saved = SavedObject(type=type_name(kind), value=_json_of(entry.value), binding=entry.binding, hidden=entry.hidden)
    if (version := version_of(kind)) > 1:
        saved["version"] = version
    return saved


def _json_of(value: object) -> JsonValue:
    try:
        plain: JsonValue = _type_adapter(cast(Hashable, type(value))).dump_python(value, mode="json")
    except (PydanticSchemaGenerationError, PydanticSerializationError, ValueError, TypeError, RecursionError) as error:
        raise StoredStateError(
            f"{type_name(type(value))} on the blackboard has no JSON form: make it a dataclass or a pydantic model, or "
            f"keep it off the blackboard ({str(error).splitlines()[0]})"
        ) from error
    return plain


def _object_of(saved: SavedObject, agent: PlannedAgentSpec) -> object:
    name, types = saved["type"], agent.types
    if (kind := types.get(name) or _PLAIN.get(name)) is None:
        known = ", ".join(sorted(types)) or "none"
        raise StoredStateError(
            f"The snapshot holds an object of the type {name!r}, which the agent does not know; it knows: {known}. "
            "Import the module of the type first; when it was renamed or moved, say so with @formerly."
        )
    value = upgraded_object(kind, saved.get("version", 1), saved["value"])
    try:
        return _type_adapter(agent.generics.get(kind, kind)).validate_json(to_json(value))
    except ValidationError as error:
        raise StoredStateError(f"The snapshot holds a {name} that is not valid: {error}") from error


@cache
def _type_adapter(kind: Hashable) -> TypeAdapter[object]:
    return TypeAdapter(kind)  # type: ignore[arg-type]  # a type, which is hashable


@cache
def _adapter() -> TypeAdapter[Snapshot]:
    return TypeAdapter(Snapshot)
