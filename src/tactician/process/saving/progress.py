"""Progress of a process in its checkpoint: what it has done, step by step, as data that has a JSON form."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache, partial

import pydantic

from tactician.errors import StoredStateError
from tactician.frozen import frozen
from tactician.process.acting.acting import Execution
from tactician.process.agent.spec import PlannedAgentSpec
from tactician.process.board.blackboard import Blackboard
from tactician.process.board.board_changes import BoardChange
from tactician.process.saving.saved_state import (
    ProcessOrigin,
    SavedRules,
    SavedState,
    history_adapter,
    read_board,
    read_history,
    read_origin,
    read_state,
    revive_all,
    save_origin,
)
from tactician.process.saving.stored_objects import decode_entry, encode_object
from tactician.process.state.options import ProcessOptions
from tactician.process.state.state import REVIEW, ActionRun, ProcessState, WaitingAction
from tactician.process.stored_types import SavedObject
from tactician.runs import OutputError, RunResult, RunStatus
from tactician.runs.progress.checkpoint import Changes, Data, Live
from tactician.runs.requests.answers import restore_response, save_response


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
        """Return the whole progress as data."""
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
        saved = SavedState(
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
        if state.rule_states is not None:
            timers = dict(state.rule_timers)
            saved["rules"] = SavedRules(states=state.rule_states, timers=timers, read=state.rules_read)
        if (review := state.review) is not None:
            saved["review"] = replace(review, refused=[*review.refused], rules=[*review.rules])
        return saved

    def _save_change(self, change: BoardChange) -> Data:
        # A live object must not keep the process: a store in memory has it for long.
        encode = partial(_encode, self._execution.agent, change.saved)
        value = Live(change.value, encode) if change.kind == "add" else change.value
        return {"kind": change.kind, "numbers": change.numbers, "name": change.name, "value": value}


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
    current_names = {REVIEW, *(action.name for action in agent.actions), *(goal.name for goal in agent.goals)}
    named = {*saved["waiting"], saved["declined"], saved["goal"]} - {None}
    if missing := {str(name) for name in named} - current_names:
        raise StoredStateError(f"The saved process names what {agent.name} does not have: {', '.join(sorted(missing))}")
    declined, goal, rules = saved["declined"], saved["goal"], saved.get("rules")
    origin, history = read_origin(data), read_history(data)
    state = ProcessState(
        Blackboard.replay(_decode_objects(read_board(data), agent)),
        saved["status"],
        None if goal is None else agent.goal(goal),
        saved["failure"],
        history,
        None if declined is None else agent.action(declined).plan,
        {name: WaitingAction(pending) for name, pending in saved["waiting"].items()},
        {name: restore_response(response) for name, response in saved["responses"].items()},
        saved["unstickings"],
        saved["replans"],
        order=saved["order"].copy(),  # a store in memory has that very object
        began_at=origin.began_at,
        unanswered=_find_unanswered(history),
        rule_states=None if rules is None else rules["states"],
        rule_timers={} if rules is None else dict(rules["timers"]),
        rules_read=0 if rules is None else rules["read"],
        review=saved.get("review"),
    )
    return RestoredProcess(state, options or origin.options)


def _find_unanswered(history: Sequence[ActionRun]) -> tuple[str, OutputError] | None:
    """Return the last action without a valid answer of a model, and the error, unless another gave something since."""
    for run in reversed(history):
        if run.error is None and run.outputs and run.action != REVIEW:
            return None
        kind, _, reason = (run.error or "").partition(": ")
        if kind == OutputError.__name__:
            return run.action, OutputError(reason, RunResult(None, RunStatus.FAILED, tally=run.tally), "")
    return None


def _decode_objects(changes: list[BoardChange], agent: PlannedAgentSpec) -> Iterator[BoardChange]:
    """Yield the changes of a blackboard with the objects of an agent."""
    saved = iter(revive_all((change.value for change in changes if change.kind == "add"), _objects_adapter()))
    for change in changes:
        if change.kind != "add":
            yield change
        elif isinstance(live := change.value, Live):
            yield BoardChange("add", change.numbers, live.value, change.name)
        else:
            entry = decode_entry(next(saved), agent)
            yield BoardChange("add", change.numbers, entry.value, change.name, entry.saved)


def _encode(agent: PlannedAgentSpec, saved: SavedObject | None, value: object) -> SavedObject:
    return encode_object(value, agent) if saved is None else saved


def _save_run(run: ActionRun) -> object:
    return history_adapter().dump_python([run], by_alias=True)[0]


@cache
def _objects_adapter() -> pydantic.TypeAdapter[list[SavedObject]]:
    return pydantic.TypeAdapter(list[SavedObject])
