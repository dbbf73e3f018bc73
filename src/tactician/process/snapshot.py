"""Snapshots: a process as JSON, and back, so that it can continue on another machine."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Final, Literal, NotRequired, cast

from pydantic import JsonValue, TypeAdapter, ValidationError
from pydantic_core import from_json, to_json, to_jsonable_python
from typing_extensions import TypedDict

from tactician.errors import StoredStateError
from tactician.llm import Usage
from tactician.process.options import ProcessOptions
from tactician.process.saved_parts import SavedOptions, SavedRun, restore_history, save_history, save_options
from tactician.process.spec import PlannedAgentSpec
from tactician.process.state import Order, ProcessState, ProcessStatus, WaitingAction
from tactician.process.stored_objects import SavedEntry, encode_entry, restore_blackboard
from tactician.process.stored_types import Saved, Upgrade, apply_upgrades
from tactician.runs import BudgetMeter, PendingRequest, SavedCheckpoint
from tactician.stores import escape_invalid, translate_json_errors

VERSION: Final = 2


class _SavedWaiting(TypedDict):
    checkpoint: SavedCheckpoint
    pending: list[PendingRequest]


class Snapshot(TypedDict):
    """Snapshot of a process."""

    version: Literal[2]
    agent: str
    status: ProcessStatus
    objects: list[SavedEntry]
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
    snapshot = Snapshot(
        version=VERSION,
        agent=agent.name,
        status=state.status,
        objects=[encode_entry(entry, agent) for entry in state.blackboard.entries],
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


def end_snapshot(text: str, status: ProcessStatus, failure: str) -> str:
    """Return a snapshot of the same process, ended. No agent is needed.

    Raises:
        StoredStateError: when the text is not a snapshot.
    """
    ended: Snapshot = {
        **read_snapshot(text),
        "status": status,
        "failure": escape_invalid(failure),
        "waiting": {},
        "responses": {},
    }
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
    """Add the child processes and the number of their actions; frames are checkpoints, and the context is a memory."""
    history = [{**run, "children": []} for run in cast("list[Saved]", snapshot["history"])]
    options = dict(cast("Saved", snapshot["options"]))
    options["memory_id"] = options.pop("context_id")
    waiting: Saved = {
        name: {"checkpoint": waited["frame"], "pending": waited["pending"]}
        for name, waited in cast("dict[str, Saved]", snapshot["waiting"]).items()
    }
    changed: Saved = {"history": cast("list[JsonValue]", history), "actions": len(history), "options": options}
    return {**snapshot, "version": 2, "waiting": waiting, **changed}


_UPGRADES: Final[Mapping[int, Upgrade]] = {1: _upgrade_to_version_2}


@cache
def _adapter() -> TypeAdapter[Snapshot]:
    return TypeAdapter(Snapshot)
