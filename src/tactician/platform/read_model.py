"""Runs as they can be looked at: by people, a dashboard or another program, without the agents that run them."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property

from pydantic import JsonValue

from tactician.errors import RunNotFoundError, StoredStateError
from tactician.llm import Usage, UsageTally
from tactician.process import ActionRun, AgentProcess, ChildRun, ProcessStatus, Snapshot, read_snapshot, restore_history
from tactician.runs import PendingRequest, RunRecord, RunStatus, RunStore, read_pending
from tactician.stores import DocumentStore


@dataclass(frozen=True, slots=True)
class ObjectView:
    """An object on the blackboard of a process.

    Attributes:
        type: the name of its type, with the module.
        value: the object as JSON.
        binding: the name under which it is there.
        is_hidden: whether actions no longer see it.
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
        parent_id: id of the run around it, if there is one.
        started_at: seconds since the epoch, if known.
        seconds: how long it has run, without the time in which it waited.
        tally: what its model calls used.
        history: the actions that it ran, oldest first.
        pending: what it waits for.
        goal: name of the goal that it reached.
        failure: why it failed, is stuck or was ended.
        conditions: the conditions that actions have set.
        objects: its blackboard, oldest object first.
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
    conditions: Mapping[str, bool] = field(default_factory=dict)
    objects: tuple[ObjectView, ...] = ()
    problem: str | None = None

    @property
    def usage(self) -> Usage:
        """The tokens of all model calls."""
        return self.tally.total

    @property
    def cost(self) -> float | None:
        """US dollars of all model calls; `None` when a price is not known."""
        return self.usage.cost

    @cached_property
    def changed_at(self) -> float | None:
        """The time when the last action ended, or else the run started, in seconds since the epoch, if known."""
        return max((run.started_at + run.seconds for run in self.history), default=self.started_at)


@dataclass(frozen=True, slots=True)
class RunTree:
    """Run, and the runs inside it."""

    run: RunView
    children: tuple[RunTree, ...] = ()

    def walk(self) -> Iterator[RunView]:
        """Iterate over the run and all inside it, each before those inside it."""
        yield self.run
        for child in self.children:
            yield from child.walk()


class RunReader:
    """Runs of a store, and processes of this program that no store has.

    Args:
        store: where runs are kept.
        processes: processes of this program.
    """

    def __init__(self, store: DocumentStore, processes: Iterable[AgentProcess] = ()) -> None:
        self._store = RunStore(store)
        self._processes = {process.id: process for process in processes}

    async def list(
        self, *, statuses: Collection[str] = (), names: Collection[str] = (), limit: int = 1000
    ) -> list[RunView]:
        """Return the runs with one of the statuses and names, oldest first; all by default.

        What cannot be read is in the list, and says so in `problem`.
        """
        stored = [view_record(one) for one in await self._store.find(statuses=statuses, names=names, limit=limit)]
        known = {run.id for run in stored}
        here = [view_process(process) for process in self._processes.values() if process.id not in known]
        return stored + [
            run for run in here if (not statuses or run.status in statuses) and (not names or run.name in names)
        ]

    async def get(self, run_id: str) -> RunView:
        """Return a run.

        Raises:
            RunNotFoundError: when the store has none with the id.
            StoredStateError: when what is stored cannot be read.
        """
        if (record := await self._store.load(run_id)) is None:
            if (process := self._processes.get(run_id)) is not None:
                return view_process(process)
            raise RunNotFoundError(f"There is no run with the id {run_id!r} in the store: see `tactician ps --all`.")
        view = view_record(record)
        if view.problem is not None:
            raise StoredStateError(view.problem)
        return view

    async def tree(self, run_id: str) -> RunTree:
        """Return a run and all runs inside it, those that only its history knows included.

        Raises:
            RunNotFoundError: when the store has none with the id.
            StoredStateError: when what is stored cannot be read.
        """
        return await self._with_children(await self.get(run_id), frozenset())

    async def _with_children(self, run: RunView, around: frozenset[str]) -> RunTree:
        around |= {run.id}  # a record that names one of those around it as inside it is left out
        records = await self._store.find(parent_id=run.id)
        inside = [view_record(record) for record in records if record.run_id not in around]
        known = {one.id for one in inside}
        ended = [child for action in run.history for child in action.children if child.id not in known]
        children = [_tree_of(one, run.id) for one in ended] + [await self._with_children(one, around) for one in inside]
        return RunTree(run, tuple(children))


def view_record(record: RunRecord) -> RunView:
    """Return the view of a stored run; with a problem, when it cannot be read."""
    try:
        if record.kind == "process":
            return _view_snapshot(record, read_snapshot(record.state))
        pending = read_pending(record) if record.status == RunStatus.WAITING.value else ()
        return RunView(record.run_id, record.name, record.kind, record.status, record.parent_id, pending=pending)
    except StoredStateError as error:
        return RunView(record.run_id, record.name, record.kind, record.status, record.parent_id, problem=str(error))


def view_process(process: AgentProcess) -> RunView:
    """Return the view of a process of this program. Its objects have to be looked up in the process itself."""
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
        conditions=process.blackboard.conditions,
    )


def _view_snapshot(record: RunRecord, snapshot: Snapshot) -> RunView:
    is_waiting = record.status == ProcessStatus.WAITING.value
    pending = (request for one in snapshot["waiting"].values() for request in one["pending"])
    return RunView(
        record.run_id,
        record.name,
        record.kind,
        record.status,
        record.parent_id,
        started_at=snapshot.get("began_at"),
        seconds=snapshot["seconds"],
        tally=UsageTally.of(snapshot["usage"]),
        history=tuple(restore_history(snapshot["history"])),
        pending=tuple(pending) if is_waiting else (),
        goal=snapshot["goal"],
        failure=snapshot["failure"],
        conditions=snapshot["conditions"],
        objects=tuple(ObjectView(o["type"], o["value"], o["binding"], o["hidden"]) for o in snapshot["objects"]),
    )


def _tree_of(child: ChildRun, parent_id: str) -> RunTree:
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
    return RunTree(view, tuple(_tree_of(one, child.id) for run in child.history for one in run.children))
