"""Runs as they can be looked at: by people, a dashboard or another program, without the agents that run them."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import replace
from typing import TYPE_CHECKING

from tactician.errors import RunNotFoundError, StoredStateError
from tactician.platform.views.recorded_events import RecordedEvent, read_recorded_events
from tactician.platform.views.runs import RunTree, RunView, view_child, view_process, view_record, view_state
from tactician.platform.views.steps import RunComparison, StepView, compare_runs, view_steps
from tactician.process import AgentProcess
from tactician.process.idle import IdleProcess
from tactician.runs.progress.store import RunStore
from tactician.stores import DocumentStore

if TYPE_CHECKING:
    from tactician.trace import Trace


class RunReader:
    """Runs of a store, and processes of this program that no store has.

    Args:
        store: where runs are kept.
        processes: processes of this program.
    """

    def __init__(self, store: DocumentStore, processes: Iterable[AgentProcess | IdleProcess] = ()) -> None:
        self._store = RunStore(store)
        self._processes = {process.id: process for process in processes}

    async def list_waiting(self, limit: int = 1000) -> list[RunView]:
        """Return the runs that wait for somebody, or of which a part does while others continue, oldest first."""
        stored = [view_record(record) for record in await self._store.find_waiting(limit=limit)]
        here = [view_process(process) for process in self._processes.values() if _is_in_memory(process)]
        return [*filter(_asks_people, stored), *(view for view in here if view.pending and _asks_people(view))]

    async def list(
        self,
        *,
        statuses: Collection[str] = (),
        names: Collection[str] = (),
        limit: int = 1000,
        newest_first: bool = False,
        after: int | None = None,
    ) -> list[RunView]:
        """Return the runs with these statuses and names; all by default.

        The oldest come first, or the newest. What cannot be read is in the list, and says so in `problem`. A list that
        goes on `after` another has runs of the store only.
        """
        records = await self._store.find(
            statuses=statuses, names=names, limit=limit, newest_first=newest_first, after=after
        )
        stored = [view_record(record) for record in records]
        if after is not None:
            return stored
        here = [view_process(process) for process in self._processes.values() if _is_in_memory(process)]
        chosen = [run for run in here if (not statuses or run.status in statuses) and (not names or run.name in names)]
        return chosen[::-1] + stored if newest_first else stored + chosen

    async def get(self, run_id: str) -> RunView:
        """Return a run.

        Raises:
            RunNotFoundError: when the store has none with the id.
            StoredStateError: when what is stored cannot be read.
        """
        if (record := await self._store.load(run_id)) is None:
            if (process := self._processes.get(run_id)) is not None:
                return view_process(process)
            raise _unknown(run_id)
        return view_state(record, await self._store.load_state(record))

    async def get_readable(self, run_id: str) -> RunView:
        """Return a run as far as it can be read; its `problem` says why not further.

        Raises:
            RunNotFoundError: when the store has none with the id.
        """
        try:
            return await self.get(run_id)
        except StoredStateError as error:
            record = await self._store.load_readable(run_id)
            if record is None:
                raise
            return replace(view_record(record), problem=str(error))

    async def tree(self, run_id: str) -> RunTree:
        """Return a run and all runs inside it, those that only its history knows included.

        Raises:
            RunNotFoundError: when the store has none with the id.
            StoredStateError: when what is stored cannot be read.
        """
        return await self._with_children(await self.get(run_id), frozenset())

    async def steps(self, run_id: str) -> tuple[StepView, ...]:
        """Return the steps of a run, oldest first.

        Raises:
            RunNotFoundError: when the store has none with the id.
            StoredStateError: when a step cannot be read.
        """
        if await self._store.load_readable(run_id) is None:
            raise _unknown(run_id)
        return view_steps(await self._store.load_steps(run_id))

    async def trace(self, run_id: str) -> Trace:
        """Return the trace of a run, from the events in its steps: plans, actions, calls of models and tools ...

        Raises:
            RunNotFoundError: when the store has none with the id.
            StoredStateError: when a step cannot be read.
        """
        from tactician.platform.views.traces import build_stored_trace

        return build_stored_trace(await self.get_readable(run_id), await self.events(run_id))

    async def events(self, run_id: str) -> tuple[RecordedEvent, ...]:
        """Return the events that the steps of a run and of the runs inside it have kept, oldest first.

        Raises:
            RunNotFoundError: when the store has none with the id.
            StoredStateError: when a step cannot be read.
        """
        if run_id not in self._processes and await self._store.load_readable(run_id) is None:
            raise _unknown(run_id)
        return await self._read_events(run_id, frozenset())

    async def compare(self, first_id: str, second_id: str) -> RunComparison:
        """Return two runs side by side.

        Raises:
            RunNotFoundError: when the store lacks any of the ids.
            StoredStateError: when what is stored cannot be read.
        """
        first, second = await self.get(first_id), await self.get(second_id)
        return compare_runs(first, await self.steps(first_id), second, await self.steps(second_id))

    async def _read_events(self, run_id: str, outer_ids: frozenset[str]) -> tuple[RecordedEvent, ...]:
        outer_ids |= {run_id}  # a record that names a run around it as inside it is left out
        events = tuple(read_recorded_events(run_id, await self._store.load_steps(run_id)))
        records = [record for record in await self._store.find(parent_id=run_id) if record.run_id not in outer_ids]
        for record in records:
            events += await self._read_events(record.run_id, outer_ids)
        return tuple(sorted(events, key=lambda event: event.time)) if records else events

    async def _with_children(self, run: RunView, outer_ids: frozenset[str]) -> RunTree:
        outer_ids |= {run.id}  # a record that names a run around it as inside it is left out
        records = await self._store.find(parent_id=run.id)
        inside = [await self.get_readable(record.run_id) for record in records if record.run_id not in outer_ids]
        view_ids = {view.id for view in inside}
        ended = [child for action in run.history for child in action.children if child.id not in view_ids]
        children = [view_child(child, run.id) for child in ended] + [
            await self._with_children(view, outer_ids) for view in inside
        ]
        return RunTree(run, tuple(children))


def _asks_people(view: RunView) -> bool:
    """Return whether a run that waits needs a person, and not only the replies of other programs."""
    return not view.pending or any(request.is_for_people for request in view.pending)


def _is_in_memory(process: AgentProcess | IdleProcess) -> bool:
    return isinstance(process, IdleProcess) or process.keeper is None


def _unknown(run_id: str) -> RunNotFoundError:
    return RunNotFoundError(f"There is no run with the id {run_id!r} in the store: see `tactician ps --all`.")
