"""A process as JSON, and back: so that it can go on in another process, on another machine.

Objects are stored under the names of their types, and come back only as types that the agent knows: no class is
imported because a stored name says so.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Hashable, Mapping
from dataclasses import fields
from functools import cache
from pathlib import Path
from typing import Final, Literal, cast

from pydantic import JsonValue, TypeAdapter, ValidationError
from pydantic.errors import PydanticSchemaGenerationError
from pydantic_core import PydanticSerializationError, from_json, to_json, to_jsonable_python
from typing_extensions import TypedDict

from tactician.errors import StoredStateError
from tactician.llm import Usage, UsageTally
from tactician.process.blackboard import Blackboard, Entry
from tactician.process.history import ActionRun
from tactician.process.options import ProcessOptions
from tactician.process.performing import WaitingAction
from tactician.process.spec import AgentSpec
from tactician.process.state import ProcessState
from tactician.process.status import ProcessStatus
from tactician.runs import Budget, PendingRequest, SavedFrame

VERSION: Final = 1
Upgrader = Callable[[dict[str, JsonValue]], dict[str, JsonValue]]
_PLAIN: Mapping[str, type] = {f"builtins.{kind.__name__}": kind for kind in (str, int, float, bool, list, dict)}
UPGRADERS: Mapping[int, Upgrader] = {}
"""For each older version, what makes a snapshot of the next one of it."""


class SavedObject(TypedDict):
    """An object of a blackboard."""

    type: str
    value: JsonValue
    binding: str
    hidden: bool


class _SavedRun(TypedDict):
    action: str
    started_at: float
    seconds: float
    usage: list[Usage]
    outputs: list[str]
    error: str | None
    attempts: int


class _SavedWaiting(TypedDict):
    frame: SavedFrame
    pending: list[PendingRequest]


class SavedOptions(TypedDict):
    """How a process is run, as far as that has a JSON form."""

    limits: dict[str, float | None]
    context_id: str | None
    max_parallel: int
    delay: float


class Snapshot(TypedDict):
    """All of a process."""

    version: Literal[1]
    agent: str
    status: ProcessStatus
    objects: list[SavedObject]
    conditions: dict[str, bool]
    history: list[_SavedRun]
    declined: str | None
    waiting: dict[str, _SavedWaiting]
    responses: dict[str, JsonValue]
    usage: list[Usage]
    turns: int
    seconds: float
    unstickings: int
    goal: str | None
    failure: str | None
    options: SavedOptions


def written(
    state: ProcessState, agent: str, options: ProcessOptions, usage: list[Usage], turns: int, seconds: float
) -> str:
    """A process as JSON text: its state, its options, and what it used.

    Raises:
        StoredStateError: when an object on its blackboard has no JSON form.
    """
    snapshot = Snapshot(
        version=VERSION,
        agent=agent,
        status=state.status,
        objects=saved_objects(state.blackboard),
        conditions=dict(state.blackboard.conditions),
        history=[_saved_run(run) for run in state.history],
        declined=None if state.declined is None else state.declined.name,
        waiting={name: _SavedWaiting(frame=w.frame, pending=list(w.pending)) for name, w in state.waiting.items()},
        responses={name: to_jsonable_python(response) for name, response in state.responses.items()},
        unstickings=state.unstickings,
        goal=None if state.goal is None else state.goal.name,
        failure=state.failure,
        options=SavedOptions(
            limits={limit.name: getattr(options.budget, limit.name) for limit in fields(Budget)},
            context_id=options.context_id,
            max_parallel=options.max_parallel,
            delay=options.delay,
        ),
        usage=usage,
        turns=turns,
        seconds=seconds,
    )
    return to_json(snapshot).decode()


def read(text: str | bytes) -> Snapshot:
    """The snapshot of an untrusted text, of this or an older version.

    Raises:
        StoredStateError: when it is none.
    """
    try:
        raw = from_json(text)
        while isinstance(raw, dict) and (upgrade := UPGRADERS.get(cast("int", raw.get("version")))) is not None:
            raw = upgrade(raw)
        return _adapter().validate_python(raw)
    except (ValueError, ValidationError) as error:
        raise StoredStateError(f"The snapshot of the process cannot be read: {error}") from error


def saved_objects(board: Blackboard) -> list[SavedObject]:
    """All objects of a blackboard as JSON.

    Raises:
        StoredStateError: when one has no JSON form.
    """
    return [
        SavedObject(type=type_name(type(e.value)), value=_json_of(e.value), binding=e.binding, hidden=e.hidden)
        for e in board.entries
    ]


def restored_board(objects: list[SavedObject], conditions: Mapping[str, bool], types: Mapping[str, type]) -> Blackboard:
    """The blackboard that was saved.

    Raises:
        StoredStateError: when a type is not one of those that may come back, or an object is no longer valid.
    """
    entries = (Entry(_object_of(one, types), one["binding"], one["hidden"]) for one in objects)
    return Blackboard.of(entries, conditions)


def with_end(text: str, status: ProcessStatus, failure: str) -> str:
    """A snapshot of the same process, ended: needs no agent.

    Raises:
        StoredStateError: when the text is no snapshot.
    """
    ended: Snapshot = {**read(text), "status": status, "failure": failure}
    return to_json(ended).decode()


def options_of(saved: Snapshot) -> ProcessOptions:
    """The options of a process that was saved. Functions among them, and retries, are not: these are the default."""
    kept = saved["options"]
    budget = TypeAdapter(Budget).validate_python(kept["limits"])
    return ProcessOptions(
        budget=budget, context_id=kept["context_id"], max_parallel=kept["max_parallel"], delay=kept["delay"]
    )


def state_of(saved: Snapshot, agent: AgentSpec) -> ProcessState:
    """The state of a process that was saved. One that was running has to be started again.

    Raises:
        StoredStateError: when the agent does not know what the snapshot holds.
    """
    known = {action.name for action in agent.actions} | {goal.name for goal in agent.goals}
    named = {*saved["waiting"], *filter(None, (saved["declined"], saved["goal"]))}
    if missing := named - known:
        raise StoredStateError(f"The snapshot names what {agent.name} does not have: {', '.join(sorted(missing))}")
    declined, goal = saved["declined"], saved["goal"]
    status = saved["status"]
    return ProcessState(
        restored_board(saved["objects"], saved["conditions"], agent.types),
        ProcessStatus.NOT_STARTED if status is ProcessStatus.RUNNING else status,
        None if goal is None else agent.goal(goal),
        saved["failure"],
        [_restored_run(run) for run in saved["history"]],
        None if declined is None else agent.action(declined).plan,
        {name: WaitingAction(one["frame"], tuple(one["pending"])) for name, one in saved["waiting"].items()},
        dict(saved["responses"]),
        saved["unstickings"],
    )


def _saved_run(run: ActionRun) -> _SavedRun:
    return _SavedRun(
        action=run.action,
        started_at=run.started_at,
        seconds=run.seconds,
        usage=list(run.tally.by_model.values()),
        outputs=list(run.outputs),
        error=run.error,
        attempts=run.attempts,
    )


def _restored_run(saved: _SavedRun) -> ActionRun:
    tally = UsageTally()
    for usage in saved["usage"]:
        tally.add(usage)
    outputs = tuple(saved["outputs"])
    return ActionRun(
        saved["action"], saved["started_at"], saved["seconds"], tally, outputs, saved["error"], saved["attempts"]
    )


def type_name(kind: type) -> str:
    """The name under which objects of a type are stored.

    A type of the program that runs, `__main__`, has the name that it would have in another program that imports it.
    """
    module = kind.__module__
    return f"{_main_module() if module == '__main__' else module}.{kind.__qualname__}"


@cache
def _main_module() -> str:
    main = sys.modules["__main__"]
    if (spec := getattr(main, "__spec__", None)) is not None:
        return str(spec.name).removesuffix(".__main__")
    file = getattr(main, "__file__", None)
    return Path(file).stem if file else "__main__"


def _json_of(value: object) -> JsonValue:
    try:
        plain: JsonValue = _type_adapter(cast(Hashable, type(value))).dump_python(value, mode="json")
    except (PydanticSchemaGenerationError, PydanticSerializationError, ValueError, TypeError, RecursionError) as error:
        raise StoredStateError(
            f"{type_name(type(value))} on the blackboard has no JSON form: make it a dataclass or a pydantic model, or "
            f"keep it off the blackboard ({str(error).splitlines()[0]})"
        ) from error
    return plain


def _object_of(saved: SavedObject, types: Mapping[str, type]) -> object:
    name = saved["type"]
    if (kind := types.get(name) or _PLAIN.get(name)) is None:
        known = ", ".join(sorted(types)) or "none"
        raise StoredStateError(
            f"The snapshot holds an object of the type {name!r}, which the agent does not know: {known}"
        )
    try:
        return _type_adapter(cast(Hashable, kind)).validate_json(to_json(saved["value"]))
    except ValidationError as error:
        raise StoredStateError(f"The snapshot holds a {name} that is not valid: {error}") from error


@cache
def _type_adapter(kind: Hashable) -> TypeAdapter[object]:
    return TypeAdapter(kind)  # type: ignore[arg-type]  # a type, which is hashable


@cache
def _adapter() -> TypeAdapter[Snapshot]:
    return TypeAdapter(Snapshot)
