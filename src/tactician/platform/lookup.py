"""Runs of a platform as they stand: processes that are here, and what the store has of the others."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from operator import attrgetter
from typing import Final

from tactician.agents import BaseRunnable
from tactician.cancellation import run_to_completion
from tactician.errors import AgentNotFoundError, RunConflictError, RunNotFoundError, StoreError
from tactician.events.event import new_id
from tactician.platform.processes import Processes
from tactician.platform.registry import REQUESTS, Registry
from tactician.process import AgentProcess, ProcessStatus
from tactician.process.agent.spec import PlannedAgentSpec
from tactician.process.idle import IdleProcess
from tactician.runs import RunContext, RunStatus, Services
from tactician.runs.life.durable import DurableRun
from tactician.runs.life.holding import LeaseTime
from tactician.runs.life.output import read_output
from tactician.runs.life.restoration import restore_context
from tactician.runs.outcomes.events import PROCESS_KIND
from tactician.runs.progress.checkpoint import Checkpoint
from tactician.runs.progress.record import REQUEST_KIND, RunRecord
from tactician.runs.progress.store import RunStore
from tactician.stores.document import Lease

ACTIVE: Final = frozenset({ProcessStatus.NOT_STARTED, ProcessStatus.RUNNING})
"""Statuses of processes that the holder of their lease runs."""


class RunLookup:
    """Look-up of the runs of a platform, and of what continues them.

    Args:
        registry: registered agents.
        context: returns a context for a run on the platform.
        services: services of the platform.
        remembered: number of processes that are looked up by their ids when they have ended.

    Attributes:
        context: the same.
        processes: processes that are here.
    """

    def __init__(
        self, registry: Registry, context: Callable[[], RunContext], services: Services, remembered: int
    ) -> None:
        self._registry = registry
        self.context = context
        self._services = services
        self._runs = RunStore(services.store)
        self._is_durable = services.is_durable
        self._owner = f"platform-{new_id()}"
        self.processes = Processes(self._wake, is_durable=services.is_durable, limit=remembered)

    async def record(self, run_id: str) -> RunRecord:
        """Return the record of a run.

        Raises:
            RunNotFoundError: when the run does not exist.
            StoredStateError: when it cannot be read.
        """
        record = await self._runs.load(run_id)
        if record is None:
            raise RunNotFoundError(f"There is no run with the id {run_id!r} in the store")
        return record

    async def exists(self, run_id: str) -> bool:
        """Return whether there is a run with the id, here or in the store."""
        if self.processes.find(run_id) is not None:
            return True
        return self._is_durable and await self._runs.load(run_id, with_body=False) is not None

    async def is_process(self, run_id: str) -> bool:
        """Return whether a run is a process.

        Raises:
            RunNotFoundError: when there is no such run.
        """
        if self.processes.find(run_id) is not None:
            return True
        record = await self._runs.load_readable(run_id)
        if record is None:
            raise RunNotFoundError(f"There is no run with the id {run_id!r}")
        return record.kind == PROCESS_KIND

    async def process(self, process_id: str) -> AgentProcess:
        """Return a process as it stands: itself, where it runs here.

        Raises:
            RunNotFoundError: when the run does not exist, or the run is of another kind.
        """
        process = self.processes.find(process_id)
        if process is not None and (not self._is_durable or self.is_running(process)):
            return process
        record = await self.record(process_id)
        if record.kind != PROCESS_KIND:
            raise RunNotFoundError(
                f"{process_id} is a run of {record.name!r}, and no process: see `await platform.tree({process_id!r})`."
            )
        return await self._restore(record)

    async def all(self) -> list[AgentProcess]:
        """Return the processes that are known here, oldest first, as they stand."""
        live_processes = [self.processes.find(process.id) for process in self.processes.all()]
        processes = [await self._find_current(process) for process in live_processes if process is not None]
        processes += [await self._find_stored(process_id) for process_id in self.processes.list_stored()]
        return sorted((process for process in processes if process is not None), key=attrgetter("began_at"))

    async def find_output(self, run_id: str) -> object:
        """Return the output of a run that has completed; `None` for any other."""
        if self.processes.find(run_id) is None:
            record = await self.record(run_id)
            if record.kind != PROCESS_KIND:
                return read_output((await self._runs.load_state(record)).tree)
        process = await self.process(run_id)
        return process.result if process.status is RunStatus.COMPLETED else None

    async def find_tree(self, run_id: str) -> Checkpoint:
        """Return the checkpoint of a run, as it is stored.

        Raises:
            RunNotFoundError: when there is no such run.
            StoredStateError: when it cannot be read.
        """
        return (await self._runs.load_state(await self.record(run_id))).tree

    def find_runnable(self, record: RunRecord) -> BaseRunnable[object]:
        """Return what runs, where that is not a process.

        Raises:
            AgentNotFoundError: when it is not registered here, or cannot continue a run.
        """
        agent = self._registry.get_agent(REQUESTS if record.kind == REQUEST_KIND else record.name)
        if not isinstance(agent, BaseRunnable):
            raise AgentNotFoundError(f"{record.name!r} ({type(agent).__name__}) cannot continue a run.")
        return agent

    def find_agent(self, record: RunRecord) -> PlannedAgentSpec:
        """Return the agent of a process.

        Raises:
            AgentNotFoundError: when it is not registered here.
        """
        here = self.processes.find(record.run_id) or self.processes.find_stored(record.run_id)
        return self._registry.of_record(record) if here is None else here.agent.refresh()

    def is_running(self, process: AgentProcess) -> bool:
        """Return whether a process runs here, and was not interrupted."""
        keeper = process.keeper
        return process.status is ProcessStatus.RUNNING and not (keeper is not None and keeper.was_interrupted)

    async def claim(self, run_id: str) -> tuple[RunRecord, Lease]:
        """Claim a stored run, so that nobody else continues it meanwhile.

        Raises:
            RunNotFoundError: when the run does not exist.
            RunConflictError: when another worker is continuing it, or it has ended.
        """
        claimed = await self._runs.claim(self._owner, self._lease_time, run_id=run_id)
        if claimed is None:
            if (status := (await self.record(run_id)).status).is_terminal:
                raise describe_end(run_id, status, is_kept=True)
            raise RunConflictError(
                f"The run {run_id} {status.sentence}: another worker is continuing it. If that worker has died, the "
                "run can continue when its lease ends, after 30 seconds by default."
            )
        return claimed

    async def release(self, lease: Lease) -> None:
        """Give a lease back; when that fails, it expires."""
        with suppress(StoreError):
            await run_to_completion(self._services.store.release(lease))

    @property
    def _lease_time(self) -> float:
        return self._services.find(LeaseTime).seconds

    async def take(self, process_id: str) -> AgentProcess:
        """Return a process that nobody else continues meanwhile.

        Raises:
            RunNotFoundError: when the run does not exist.
            RunConflictError: when another worker is continuing it, or it is stored and has ended.
        """
        if not self._is_durable:
            return await self.process(process_id)
        return await self.load_claimed(*await self.claim(process_id))

    async def load_claimed(self, record: RunRecord, lease: Lease, seconds: float | None = None) -> AgentProcess:
        """Return a process whose lease is ours: itself, if it is idle here. Release the lease if that fails."""
        process = self.processes.find(record.run_id)
        try:
            if process is not None and _is_idle(process, record) and process.keeper is not None:
                process.keeper.adopt(record, lease, self._lease_time if seconds is None else seconds)
            else:
                process = await self._restore(record, lease, seconds)
        except BaseException:
            await self.release(lease)
            raise
        self.processes.add(process)
        return process

    async def _restore(
        self, record: RunRecord, lease: Lease | None = None, seconds: float | None = None
    ) -> AgentProcess:
        """Return a process as it is kept; only a single holder at a time may continue it."""
        agent, state = self.find_agent(record), await self._runs.load_state(record)
        context = restore_context(record, state, self.context(), {})
        owner = self._owner if lease is None else lease.owner
        keeper = DurableRun(context, record, owner, lease=lease, seconds=seconds, start=state.start, size=state.size)
        stored = self.processes.find_stored(record.run_id)
        process = AgentProcess.restore(agent, context, None if stored is None else stored.options, keeper)
        if record.has_ended and process.status is not record.status:  # as it was killed, or could not be saved
            process.mark_ended(record.status, record.header.failure)
        return process

    async def _find_stored(self, process_id: str) -> AgentProcess | None:
        record = await self._runs.load(process_id)
        return None if record is None else await self._restore(record)

    async def _find_current(self, process: AgentProcess) -> AgentProcess | None:
        """Return the process, or a copy of what is kept if it has continued elsewhere; `None` if nothing is kept."""
        keeper = process.keeper
        if keeper is None or keeper.record.has_ended or (process.status in ACTIVE and not keeper.was_interrupted):
            return process
        record = await self._runs.load(process.id)
        if record is None:
            return None
        return process if keeper.is_current(record) else await self._restore(record)

    def _wake(self, idle: IdleProcess) -> AgentProcess:
        return AgentProcess.wake(idle, self.context())


def _is_idle(process: AgentProcess, record: RunRecord) -> bool:
    """Return whether the object in memory is idle and equals the record, so that it can continue itself."""
    keeper = process.keeper
    is_same = keeper is not None and process.status is record.status and keeper.is_current(record)
    return is_same and keeper is not None and not keeper.is_held


def describe_end(run_id: str, status: ProcessStatus, *, is_kept: bool = False) -> RunConflictError:
    """Return the error of what nothing continues; a run that a store keeps can be forked."""
    remedy = ""
    if is_kept and status in (ProcessStatus.FAILED, ProcessStatus.TERMINATED):
        ways = f"`await platform.fork({run_id!r})`, or `tactician fork {run_id}`,"
        remedy = f" {ways} begins a new run that repeats only what failed."
    return RunConflictError(f"The run {run_id} {status.sentence}: nothing continues it.{remedy}")
