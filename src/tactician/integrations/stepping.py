"""Processes of a store, step by step: what any engine needs that decides itself when the next step is due."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from pydantic_core import to_json, to_jsonable_python

from tactician.agents import planned_spec
from tactician.errors import AgentNotFoundError, ResponseError, RunConflictError, RunNotFoundError
from tactician.events import new_id
from tactician.integrations.standing import Standing
from tactician.platform import Platform
from tactician.process import (
    DEFAULT_LEASE,
    AgentProcess,
    PlannedAgentSpec,
    ProcessOptions,
    ProcessPersister,
    ProcessStatus,
    Snapshot,
    read_snapshot,
)
from tactician.runs import PendingRequest, Response, RunRecord, RunStore
from tactician.stores import Lease


class Stepper:
    """Runs the processes of a platform's store one step at a time, each under a lease.

    Args:
        platform: whose agents and store it works with.
        options: how processes are run.
        lease: seconds for which a process is its own; renewed while a step runs.
    """

    def __init__(
        self, platform: Platform, options: ProcessOptions | None = None, *, lease: float = DEFAULT_LEASE
    ) -> None:
        self._platform = platform
        self._store = platform.store
        self._runs = RunStore(platform.store)
        self._options = options
        self._lease = lease
        self._owner = f"stepper-{new_id()}"

    async def added(self, agent: str, *objects: object) -> str:
        """The id of a new process of a registered agent, which is in the store and has not started.

        Raises:
            AgentNotFoundError: when no planned agent is registered with the name.
            StoredStateError: when an object has no JSON form.
        """
        spec, context = self._planned(agent), self._platform.context().child(agent)
        state = AgentProcess.create(spec, objects, context, self._options).snapshot()
        await self._runs.save(RunRecord(context.run_id, agent, ProcessStatus.NOT_STARTED.value, state, kind="process"))
        return context.run_id

    async def step(self, process_id: str, now: float) -> Standing:
        """One step: the next action, or what it is told. One that waits and was told nothing stays as it is.

        Args:
            now: by the engine's time; requests whose deadline has passed then get their default answers.

        Raises:
            RunNotFoundError: when there is no such process.
            RunConflictError: when somebody else is going on with it.
            LeaseLostError: when somebody else has taken it over meanwhile.
            StoredStateError: when what is kept cannot be read.
        """
        if (status := await self.status(process_id)).is_terminal:
            return Standing(status.value, has_ended=True)
        record, lease = await self._claimed(process_id)
        persister = ProcessPersister(self._store, record, self._owner, lease=lease, seconds=self._lease)
        try:
            process = self._restored(replace(record, state=_with_defaults(record.state, now)), persister)
        except BaseException:
            await self._store.release(lease)
            raise
        process.pause()
        async with persister.hold_lease(process):
            await process.run()
        return _standing_of(process, now)

    async def answer(self, process_id: str, request_id: str, response: Response) -> None:
        """Keeps an answer to a request of a process that waits: its next step takes it.

        Raises:
            RunNotFoundError: when there is no such process.
            RunConflictError: when somebody is going on with it.
            ResponseError: when it does not wait for that.
        """
        if (status := await self.status(process_id)).is_terminal:
            raise ResponseError(f"The process {process_id} is {status}: it waits for nothing.")
        record, lease = await self._claimed(process_id)
        try:
            saved = read_snapshot(record.state)
            known = [request.id for request in _pending(saved)]
            if request_id not in known:
                raise ResponseError(f"{record.name} does not wait for {request_id!r}; it waits for {known}")
            await self._runs.save(replace(record, state=_told(saved, {request_id: response})), lease)
        finally:
            await self._store.release(lease)

    async def process(self, process_id: str) -> AgentProcess:
        """A process as it is kept.

        Raises:
            RunNotFoundError: when there is none with the id.
            StoredStateError: when what is kept cannot be read.
        """
        record = await self._record(process_id)
        process = self._restored(record, ProcessPersister(self._store, record, self._owner))
        if record.status == ProcessStatus.KILLED:  # whoever killed it knew the record only
            await process.kill()
        return process

    async def status(self, process_id: str) -> ProcessStatus:
        """Where a process stands, as it is kept. It is `PAUSED` between two steps.

        Raises:
            RunNotFoundError: when there is none with the id.
        """
        return ProcessStatus((await self._record(process_id)).status)

    async def kill(self, process_id: str) -> Standing:
        """Ends a process for good, unless it has ended.

        Raises:
            RunNotFoundError: when there is none with the id.
        """
        await self._platform.kill(process_id)
        return Standing((await self.status(process_id)).value, has_ended=True)

    async def _claimed(self, process_id: str) -> tuple[RunRecord, Lease]:
        claimed = await self._runs.claim(self._owner, self._lease, run_id=process_id)
        if claimed is None:
            raise RunConflictError(f"Somebody else is going on with the process {process_id}: try again.")
        return claimed

    async def _record(self, process_id: str) -> RunRecord:
        record = await self._runs.load(process_id)
        if record is None:
            raise RunNotFoundError(f"There is no process with the id {process_id!r} in the store")
        return record

    def _restored(self, record: RunRecord, persister: ProcessPersister | None) -> AgentProcess:
        agent = self._planned(record.name)
        context = self._platform.context().child(agent.name)
        context = replace(context, run_id=record.run_id, process_id=record.parent_id)
        return AgentProcess.restore(agent, record.state, context, self._options, persister)

    def _planned(self, name: str) -> PlannedAgentSpec:
        found = self._platform.agents.get(name)
        if found is not None and (spec := planned_spec(found)) is not None:
            return spec
        known = ", ".join(self._platform.agents) or "none"
        raise AgentNotFoundError(f"No planned agent is registered here as {name!r}. Registered: {known}.")


def _standing_of(process: AgentProcess, now: float) -> Standing:
    waits = process.pending if process.status is ProcessStatus.WAITING else ()
    # One that has passed is of no use when not even the default did fit.
    deadlines = [
        one.deadline for one in waits if one.deadline is not None and (one.deadline > now or one.problem is None)
    ]
    status = ProcessStatus.RUNNING if process.status is ProcessStatus.PAUSED else process.status
    return Standing(
        status.value,
        has_ended=status.is_terminal or status is ProcessStatus.STUCK,
        pending=[request.id for request in waits],
        refused=[request.id for request in waits if request.problem is not None],
        wakes_at=min(deadlines, default=None),
    )


def _pending(saved: Snapshot) -> list[PendingRequest]:
    return [request for waiting in saved["waiting"].values() for request in waiting["pending"]]


def _told(saved: Snapshot, responses: Mapping[str, Response]) -> str:
    """The snapshot as text, with these answers. What was wrong with earlier ones says nothing of them."""
    saved["responses"].update({name: to_jsonable_python(response) for name, response in responses.items()})
    for waiting in saved["waiting"].values():
        waiting["pending"] = [
            replace(request, problem=None) if request.id in responses else request for request in waiting["pending"]
        ]
    return to_json(saved).decode()


def _with_defaults(state: str, now: float) -> str:
    """The snapshot with the default answers of requests that nobody has answered, or not rightly, in time."""
    saved = read_snapshot(state)
    overdue = {
        request.id: request.default
        for request in _pending(saved)
        if request.deadline is not None
        and request.deadline <= now
        and (request.problem is not None or request.id not in saved["responses"])
    }
    return _told(saved, overdue) if overdue else state
