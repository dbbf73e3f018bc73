"""Snapshots: a process as JSON, and back, so that it can continue on another machine.

Objects are stored under the names of their types, and come back only as types that the agent knows: no class is
imported because a stored name says so.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from functools import cache
from typing import Final, Literal, NotRequired, cast

from pydantic import JsonValue, TypeAdapter, ValidationError
from pydantic.errors import PydanticSchemaGenerationError
from pydantic_core import PydanticSerializationError, from_json, to_json, to_jsonable_python
from typing_extensions import TypedDict

from tactician.errors import StoredStateError
from tactician.llm import Usage
from tactician.process.blackboard import Blackboard, Entry, Rejection
from tactician.process.options import ProcessOptions
from tactician.process.saved_parts import SavedOptions, SavedRun, restore_history, save_history, save_options
from tactician.process.spec import PlannedAgentSpec
from tactician.process.state import Order, ProcessState, ProcessStatus, WaitingAction
from tactician.process.stored_types import Saved, Upgrade, apply_upgrades, type_name, upgrade_object, version_of
from tactician.runs import BudgetMeter, PendingRequest, SavedCheckpoint
from tactician.stores import translate_json_errors

VERSION: Final = 2
_PLAIN: Mapping[str, type] = {type_name(kind): kind for kind in (str, int, float, bool, list, dict, Rejection)}


class SavedObject(TypedDict):
    """Object of a blackboard. `version` is that of its type, 1 where it is missing."""

    type: str
    version: NotRequired[int]
    value: JsonValue
    binding: str
    hidden: bool


class _SavedWaiting(TypedDict):
    checkpoint: SavedCheckpoint
    pending: list[PendingRequest]


class Snapshot(TypedDict):
    """Snapshot of a process."""

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


def write_snapshot(
    state: ProcessState, agent: PlannedAgentSpec, options: ProcessOptions, usage: list[Usage], meter: BudgetMeter
) -> str:
    """Return a process as JSON text: its state, its options, its usage, and the recipe of its agent.

    Raises:
        StoredStateError: when an object on its blackboard has no JSON form, or could not be read again.
    """
    _check_known(state.blackboard, agent)
    snapshot = Snapshot(
        version=VERSION,
        agent=agent.name,
        status=state.status,
        objects=save_objects(state.blackboard),
        conditions=dict(state.blackboard.conditions),
        history=save_history(state.history),
        declined=None if state.declined is None else state.declined.name,
        waiting={
            name: _SavedWaiting(checkpoint=w.checkpoint, pending=list(w.pending)) for name, w in state.waiting.items()
        },
        responses={name: to_jsonable_python(response) for name, response in state.responses.items()},
        unstickings=state.unstickings,
        replans=state.replans,
        goal=None if state.goal is None else state.goal.name,
        failure=state.failure,
        options=save_options(options),
        recipe=None if agent.recipe is None else dict(agent.recipe),
        usage=usage,
        turns=meter.turns,
        seconds=meter.seconds,
        actions=meter.actions,
        order=state.order,
        began_at=state.began_at,
    )
    with translate_json_errors(f"The process of {agent.name}"):
        return to_json(snapshot).decode()


def read_snapshot(text: str | bytes) -> Snapshot:
    """Read the snapshot in an untrusted text, of this or an older version.

    Raises:
        StoredStateError: when the text is not a snapshot.
    """
    try:
        raw = from_json(text)
        return _adapter().validate_python(_upgrade_snapshot(raw) if isinstance(raw, dict) else raw)
    except (ValueError, ValidationError) as error:
        raise StoredStateError(f"The snapshot of the process cannot be read: {error}") from error


def check_objects(board: Blackboard, agent: PlannedAgentSpec) -> None:
    """Check that all objects of a blackboard can be saved, and read again for the agent.

    Raises:
        StoredStateError: when one cannot.
    """
    _check_known(board, agent)
    save_objects(board)


def save_objects(board: Blackboard) -> list[SavedObject]:
    """Return all objects of a blackboard as JSON.

    Raises:
        StoredStateError: when one has no JSON form.
    """
    return [_save_object(entry) for entry in board.entries]


def restore_blackboard(
    objects: list[SavedObject], conditions: Mapping[str, bool], agent: PlannedAgentSpec
) -> Blackboard:
    """Restore a blackboard that was saved, for an agent that knows the types of its objects.

    Raises:
        StoredStateError: when the agent does not know a type, or an object is no longer valid.
    """
    entries = (Entry(_restore_object(one, agent), one["binding"], one["hidden"]) for one in objects)
    return Blackboard.of(entries, conditions)


def end_snapshot(text: str, status: ProcessStatus, failure: str) -> str:
    """Return a snapshot of the same process, ended. No agent is needed.

    Raises:
        StoredStateError: when the text is not a snapshot.
    """
    ended: Snapshot = {**read_snapshot(text), "status": status, "failure": failure, "waiting": {}, "responses": {}}
    return to_json(ended).decode()


def restore_state(saved: Snapshot, agent: PlannedAgentSpec) -> ProcessState:
    """Restore the state of a process. One that was running has to be started again.

    Raises:
        StoredStateError: when the agent does not know what the snapshot holds.
    """
    known = {action.name for action in agent.actions} | {goal.name for goal in agent.goals}
    named = {*saved["waiting"], *filter(None, (saved["declined"], saved["goal"]))}
    if missing := named - known:
        raise StoredStateError(f"The snapshot names what {agent.name} does not have: {', '.join(sorted(missing))}")
    declined, goal = saved["declined"], saved["goal"]
    return ProcessState(
        restore_blackboard(saved["objects"], saved["conditions"], agent),
        saved["status"],
        None if goal is None else agent.goal(goal),
        saved["failure"],
        restore_history(saved["history"]),
        None if declined is None else agent.action(declined).plan,
        {name: WaitingAction(one["checkpoint"], tuple(one["pending"])) for name, one in saved["waiting"].items()},
        dict(saved["responses"]),
        saved["unstickings"],
        saved.get("replans", 0),
        order=saved.get("order") or Order(),
        began_at=saved.get("began_at") or 0.0,
    )


def _upgrade_snapshot(snapshot: Saved) -> Saved:
    """Return a snapshot of this or an older version as this version writes it.

    Raises:
        StoredStateError: when it is of another version.
    """
    version = snapshot.get("version")
    if type(version) is not int or version < 1:
        raise StoredStateError(f"The snapshot of the process cannot be read: {version!r} is no version")
    return apply_upgrades(snapshot, version, VERSION, _UPGRADES, "The snapshot of the process cannot be read: it")


def _upgrade_to_version_2(snapshot: Saved) -> Saved:
    """Add the child processes and the number of their actions; the context of the options is called a memory."""
    history = [{**run, "children": []} for run in cast("list[Saved]", snapshot["history"])]
    options = dict(cast("Saved", snapshot["options"]))
    options["memory_id"] = options.pop("context_id")
    changed: Saved = {"history": cast("list[JsonValue]", history), "actions": len(history), "options": options}
    return {**snapshot, "version": 2, **changed}


_UPGRADES: Final[Mapping[int, Upgrade]] = {1: _upgrade_to_version_2}


def _check_known(board: Blackboard, agent: PlannedAgentSpec) -> None:
    for entry in board.entries:
        kind = type(entry.value)
        if agent.knows(entry.value) or kind in _PLAIN.values() or agent.refresh().knows(entry.value):
            continue
        raise StoredStateError(
            f"{type_name(kind)} on the blackboard could not be read again from a store: nothing that {agent.name} "
            "declares names this type. Name it as a parameter, or as what an action returns, or keep it off the "
            "blackboard."
        )


def _save_object(entry: Entry) -> SavedObject:
    kind = type(entry.value)
    saved = SavedObject(type=type_name(kind), value=_dump(entry.value), binding=entry.binding, hidden=entry.hidden)
    if (version := version_of(kind)) > 1:
        saved["version"] = version
    return saved


def _dump(value: object) -> JsonValue:
    try:
        plain: JsonValue = _type_adapter(cast(Hashable, type(value))).dump_python(value, mode="json")
    except (PydanticSchemaGenerationError, PydanticSerializationError, ValueError, TypeError, RecursionError) as error:
        raise StoredStateError(
            f"{type_name(type(value))} on the blackboard has no JSON form: make it a dataclass or a pydantic model, or "
            f"keep it off the blackboard ({str(error).splitlines()[0]})"
        ) from error
    return plain


def _restore_object(saved: SavedObject, agent: PlannedAgentSpec) -> object:
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


@cache
def _type_adapter(kind: Hashable) -> TypeAdapter[object]:
    return TypeAdapter(kind)  # type: ignore[arg-type]  # a type, which is hashable


@cache
def _adapter() -> TypeAdapter[Snapshot]:
    return TypeAdapter(Snapshot)
