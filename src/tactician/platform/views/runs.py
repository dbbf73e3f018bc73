"""Runs as they can be looked at, without what runs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace

from pydantic import JsonValue

from tactician.frozen import frozen
from tactician.llm import Message, Usage
from tactician.llm.usage import UsageTally
from tactician.loop.saved_state import read_messages
from tactician.process import AgentProcess, Blackboard
from tactician.process.board.board_changes import Entry
from tactician.process.idle import IdleProcess
from tactician.process.saving.saved_state import is_process, read_board, read_history, read_origin, read_state
from tactician.process.state.state import ActionRun, ChildRun
from tactician.runs import PendingRequest, RunState
from tactician.runs.progress.checkpoint import Checkpoint, Live
from tactician.runs.progress.record import RunRecord
from tactician.trace.capture import CaptureMode


@frozen
class ObjectView:
    """An object on the blackboard of a process.

    Attributes:
        type: the name of its type, with the module.
        value: the object as JSON.
        binding: the name under which it is there.
        is_hidden: true when actions no longer see it.
    """

    type: str
    value: JsonValue
    binding: str
    is_hidden: bool = False


@dataclass(frozen=True)
class RunView:
    """Run or process as it stands, and what it has done.

    Attributes:
        id: id of the run.
        name: name of what runs.
        kind: `"process"`, or `"run"` for any other Runnable.
        status: where it stands, such as `"waiting"`.
        parent_id: id of the run around it, if any.
        started_at: seconds since the epoch, if known.
        seconds: how long it has run, without the time in which it waited.
        tally: what its model calls used.
        history: the actions that it ran, oldest first.
        pending: what it waits for, or a part of it while others continue.
        goal: name of the goal that it reached.
        failure: why it failed, is stuck or was ended.
        output: beginning of its result, as text.
        messages: the conversation, if the run has a conversation.
        conditions: the conditions that actions have set.
        objects: its blackboard, oldest object first.
        steps: number of its saved steps.
        changed_at: time of its last change, in seconds since the epoch, if known.
        was_interrupted: true when it is running, but no worker holds it: its worker died, or was interrupted.
        forked_from: id and step of the run that it was forked from.
        model: name of the model that takes the place of all others.
        capture: how much of the run is captured, if it says so itself.
        user: id of the user that the run works for, if any.
        worker: name of the worker that holds the run; empty when none does.
        lease_ends_at: when its lease ends unless it is renewed, in seconds since the epoch.
        number: place of the run in the order in which runs were saved first; 0 for one that is not in the store.
        problem: why what is stored cannot be read; then the view has only what the store itself knows.
    """

    id: str
    name: str
    kind: str
    status: str
    parent_id: str | None = None
    started_at: float | None = None
    seconds: float = 0.0
    tally: UsageTally = field(default_factory=UsageTally, repr=False)
    history: tuple[ActionRun, ...] = ()
    pending: tuple[PendingRequest, ...] = ()
    goal: str | None = None
    failure: str | None = None
    output: str = ""
    messages: tuple[Message, ...] = ()
    conditions: Mapping[str, bool] = field(default_factory=dict)
    objects: tuple[ObjectView, ...] = ()
    steps: int = 0
    changed_at: float | None = None
    was_interrupted: bool = False
    forked_from: tuple[str, int] | None = None
    model: str | None = None
    capture: CaptureMode | None = None
    user: str | None = None
    worker: str = ""
    lease_ends_at: float | None = None
    number: int = 0
    problem: str | None = None

    @property
    def usage(self) -> Usage:
        """The tokens of all model calls."""
        return self.tally.total

    @property
    def cost(self) -> float | None:
        """US dollars of all model calls; `None` when a price is not known."""
        return self.usage.cost


@frozen
class RunTree:
    """Run, and the runs inside it."""

    run: RunView
    children: tuple[RunTree, ...] = ()

    def walk(self) -> Iterator[RunView]:
        """Iterate over the run and all inside it, each before those inside it."""
        yield self.run
        for child in self.children:
            yield from child.walk()


def view_record(record: RunRecord) -> RunView:
    """Return the view of a stored run as far as its record has it, without its state."""
    header = record.header
    return RunView(
        record.run_id,
        record.name,
        record.kind,
        record.status.value,
        record.parent_id,
        started_at=header.started_at,
        seconds=header.spent["seconds"],
        tally=UsageTally.of(header.spent["usage"]),
        pending=header.pending,
        failure=header.failure,
        output=header.output,
        steps=record.steps,
        changed_at=record.updated_at,
        was_interrupted=record.was_interrupted,
        forked_from=header.forked_from,
        model=header.model,
        capture=header.capture,
        user=header.user,
        worker=record.owner,
        lease_ends_at=record.lease_ends_at,
        number=record.number,
        problem=record.problem,
    )


def view_state(record: RunRecord, state: RunState) -> RunView:
    """Return the view of a stored run with its state.

    Raises:
        StoredStateError: when the state cannot be read.
    """
    data, spent = state.tree.data, state.spent
    view = replace(
        view_record(record),
        seconds=spent["seconds"],
        tally=UsageTally.of(spent["usage"]),
        messages=() if is_process(data) else _find_messages(state.tree),
    )
    return _with_process(view, data) if is_process(data) else view


def _find_messages(tree: Checkpoint) -> tuple[Message, ...]:
    """Return the conversation of a run: its own, or the conversation of the only such run inside."""
    if tree_messages := read_messages(tree.data):
        return tree_messages
    histories = [messages for checkpoint in tree.walk() if (messages := read_messages(checkpoint.data))]
    return histories[0] if len(histories) == 1 else ()


def view_process(process: AgentProcess | IdleProcess) -> RunView:
    """Return the view of a process of this program. Its objects must be looked up in the process itself."""
    return RunView(
        process.id,
        process.agent.name,
        "process",
        process.status.value,
        process.parent_id,
        started_at=process.began_at,
        seconds=process.seconds,
        tally=process.tally,
        history=process.history,
        pending=process.pending,
        goal=None if process.goal is None else process.goal.name,
        failure=process.failure,
        user=None if process.options.user is None else process.options.user.id,
        conditions=process.blackboard.conditions,
        changed_at=_find_last_change(process.history, process.began_at),
    )


def _with_process(view: RunView, data: Mapping[str, object]) -> RunView:
    saved = read_state(data)
    board = Blackboard.replay(read_board(data))
    return replace(
        view,
        started_at=read_origin(data).began_at,
        history=tuple(read_history(data)),
        goal=saved["goal"],
        conditions=dict(board.conditions),
        objects=tuple(_view_object(entry) for entry in board.entries),
    )


def _view_object(entry: Entry) -> ObjectView:
    value = entry.value.encode() if isinstance(entry.value, Live) else entry.value
    saved = value if isinstance(value, dict) else {}
    return ObjectView(str(saved.get("type", "")), saved.get("value"), entry.binding, entry.hidden)


def _find_last_change(history: Iterable[ActionRun], otherwise: float | None) -> float | None:
    """Return the time when the last action ended."""
    return max((run.started_at + run.seconds for run in history), default=otherwise)


def view_child(child: ChildRun, parent_id: str) -> RunTree:
    """Return the tree of a process that was not stored by itself."""
    tally = UsageTally.of(usage for run in child.history for usage in run.tally.by_model.values())
    view = RunView(
        child.id,
        child.agent,
        "process",
        child.status.value,
        parent_id,
        started_at=min((run.started_at for run in child.history), default=None),
        seconds=sum(run.seconds for run in child.history),
        tally=tally,
        history=child.history,
        failure=child.failure,
    )
    return RunTree(
        view, tuple(view_child(grandchild, child.id) for run in child.history for grandchild in run.children)
    )
