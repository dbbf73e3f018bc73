"""Makes processes, runs them, and goes on with those that are kept: in a store under a lease, else in memory."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from typing import Final
from weakref import WeakKeyDictionary

from tactician.errors import ConfigurationError, RunConflictError, RunNotFoundError, StoreError
from tactician.events import new_id
from tactician.platform.memories import recall, remember
from tactician.platform.processes import Processes
from tactician.platform.registry import Registry
from tactician.process import (
    DEFAULT_LEASE,
    AgentProcess,
    PlannedAgentSpec,
    ProcessOptions,
    ProcessPersister,
    ProcessStatus,
    add_inputs,
    check_options,
    check_tool_groups,
    create_blackboard,
    kill_run,
)
from tactician.runs import Response, RunContext, RunRecord, RunStore
from tactician.stores import DocumentStore, Lease

Objects = tuple[object, ...]
_OURS: Final = frozenset({ProcessStatus.NOT_STARTED, ProcessStatus.RUNNING})


class Runner:
    """The processes of one platform.

    Args:
        registry: what is registered there.
        context: gives a context for a run there.
        store: where runs are kept.
        is_durable: whether processes are kept there too.
    """

    def __init__(
        self, registry: Registry, context: Callable[[], RunContext], store: DocumentStore, *, is_durable: bool
    ) -> None:
        self._registry = registry
        self._context = context
        self._store = store
        self._runs = RunStore(store)
        self._is_durable = is_durable
        self._owner = f"platform-{new_id()}"
        self._spawned: set[asyncio.Task[AgentProcess]] = set()
        self._persisters: WeakKeyDictionary[AgentProcess, ProcessPersister] = WeakKeyDictionary()
        self.processes = Processes(is_durable=is_durable)

    async def start(self, agent: PlannedAgentSpec, objects: Objects, options: ProcessOptions | None) -> AgentProcess:
        """A new process, run as far as it can go."""
        check_tool_groups(agent, self._context())
        return await self._run(*await self._made(agent, objects, options))

    async def spawn(self, agent: PlannedAgentSpec, objects: Objects, options: ProcessOptions | None) -> AgentProcess:
        """A new process, which runs beside."""
        check_tool_groups(agent, self._context())
        process, persister = await self._made(agent, objects, options)
        task = process.spawned = asyncio.create_task(self._run(process, persister))
        self._spawned.add(task)
        task.add_done_callback(self._spawned.discard)
        return process

    async def enqueue(self, agent: PlannedAgentSpec, objects: Objects, options: ProcessOptions | None) -> str:
        """The id of a new process, which is in the store only.

        Raises:
            ConfigurationError: when there is none.
        """
        if not self._is_durable:
            raise ConfigurationError("A platform needs a store for workers to find processes: Platform(store=...)")
        process, _ = await self._made(agent, objects, options)
        self.processes.drop(process)
        name, text = process.agent.name, process.snapshot()
        await self._runs.save(RunRecord(process.id, name, "not started", text, 0, "process", process.parent_id))
        return process.id

    async def respond(self, process_id: str, request_id: str, response: Response) -> AgentProcess:
        """A process that waits, told something, and run as far as it can go."""
        try:
            process, persister = await self._taken(process_id)
        except RunConflictError:
            if (kept := await self.process(process_id)).status.is_terminal:
                kept.answer(request_id, response)  # which says that it has ended
            raise
        async with self._going_on(process, persister):
            await process.respond(request_id, response)
        return process

    async def resume(self, process_id: str, objects: Objects) -> AgentProcess:
        """A process that rests, given objects, and run as far as it can go."""
        process, persister = await self._taken(process_id)
        if process.status.is_terminal:
            raise _has_ended(process_id, process.status)
        async with self._going_on(process, persister):
            add_inputs(process.blackboard, objects, process.agent)
            if objects and persister is not None:
                await persister.save(process)
            await process.run()
        return process

    async def continue_claimed(self, record: RunRecord, lease: Lease, seconds: float) -> AgentProcess:
        """Continue a claimed process as far as it can go."""
        return await self._run(*await self._claimed(record, lease, seconds))

    async def kill(self, process_id: str, reason: str) -> ProcessStatus:
        """Ends a process for good, wherever it runs; how it has ended.

        Raises:
            RunNotFoundError: when there is none.
            RunConflictError: when it changes too fast.
        """
        process = self.processes.find(process_id)
        if process is not None and (not self._is_durable or process.status in _OURS):
            with suppress(RunConflictError):  # it has gone on elsewhere
                await process.kill(reason)
            self.processes.rest(process)
        if self._is_durable:
            if await kill_run(self._store, process_id, reason) and process is not None:
                await process.kill(reason)
            return ProcessStatus((await self.record(process_id)).status)
        if process is None:
            raise RunNotFoundError(f"There is no process with the id {process_id!r}")
        return process.status

    async def all(self) -> list[AgentProcess]:
        """The processes that are known here, oldest first, as they stand."""
        found = [await self._as_it_stands(process) for process in self.processes.all()]
        return [process for process in found if process is not None]

    async def _as_it_stands(self, process: AgentProcess) -> AgentProcess | None:
        """The process itself, or a copy of what is kept, when it has gone on elsewhere; `None` when nothing is kept."""
        persister = self._persisters.get(process)
        if persister is None or persister.has_ended or (process.status in _OURS and not persister.was_interrupted):
            return process
        record = await self._runs.load(process.id)
        if record is None:
            return None
        return process if persister.is_current(record) else self._restored(record)

    async def process(self, process_id: str) -> AgentProcess:
        """A process as it stands: itself, where it runs here.

        Raises:
            RunNotFoundError: when there is none.
        """
        found = self.processes.find(process_id)
        if found is not None and (not self._is_durable or self._runs_here(found)):
            return found
        return self._restored(await self.record(process_id))

    def _runs_here(self, process: AgentProcess) -> bool:
        persister = self._persisters.get(process)
        return process.status is ProcessStatus.RUNNING and not (persister is not None and persister.was_interrupted)

    async def record(self, run_id: str) -> RunRecord:
        """What is kept of a run.

        Raises:
            RunNotFoundError: when nothing is.
        """
        record = await self._runs.load(run_id)
        if record is None:
            raise RunNotFoundError(f"There is no run with the id {run_id!r} in the store")
        return record

    async def _made(
        self, agent: PlannedAgentSpec, objects: Objects, options: ProcessOptions | None
    ) -> tuple[AgentProcess, ProcessPersister | None]:
        """A process, which is not started yet, with what its context knows."""
        known = create_blackboard(options)
        context, persister = self._context().child(agent.name), None
        if self._is_durable:
            check_options(options or ProcessOptions())
            record = RunRecord(context.run_id, agent.name, "not started", "", 0, "process", context.process_id)
            persister = ProcessPersister(self._store, record, self._owner)
        if options is not None and options.memory_id is not None:
            known = await recall(self._store, options.memory_id, agent, known)
        process = AgentProcess.create(agent, objects, context, options, persister, known)
        self._know(process, persister)
        return process, persister

    def _know(self, process: AgentProcess, persister: ProcessPersister | None) -> None:
        self.processes.add(process)
        if persister is not None:
            self._persisters[process] = persister

    async def _run(self, process: AgentProcess, persister: ProcessPersister | None) -> AgentProcess:
        async with self._going_on(process, persister):
            await process.run()
        return process

    @asynccontextmanager
    async def _going_on(self, process: AgentProcess, persister: ProcessPersister | None) -> AsyncIterator[None]:
        """Holds the lease meanwhile. What a process that completes has found out is kept for those after it."""
        try:
            if persister is None:
                yield
            else:
                async with persister.hold_lease(process):
                    yield
        finally:
            self.processes.rest(process)
        memory_id = process.options.memory_id
        if memory_id is not None and process.status is ProcessStatus.COMPLETED:
            await remember(self._store, memory_id, process)

    async def _taken(self, process_id: str) -> tuple[AgentProcess, ProcessPersister | None]:
        """A process, which nobody else goes on with meanwhile."""
        if not self._is_durable:
            return await self.process(process_id), None
        claimed = await self._runs.claim(self._owner, DEFAULT_LEASE, run_id=process_id)
        if claimed is None:
            if (status := ProcessStatus((await self.record(process_id)).status)).is_terminal:
                raise _has_ended(process_id, status)
            raise RunConflictError(f"The process {process_id} is {status}: somebody else is going on with it.")
        return await self._claimed(*claimed)

    async def _claimed(
        self, record: RunRecord, lease: Lease, seconds: float = DEFAULT_LEASE
    ) -> tuple[AgentProcess, ProcessPersister]:
        """A process whose lease is ours: itself, where it rests here. One that cannot go on here is left to others."""
        process = self.processes.find(record.run_id)
        persister = None if process is None else self._persisters.get(process)
        if process is not None and persister is not None and persister.can_continue(process, record):
            persister.adopt_lease(lease, seconds)
        else:
            persister = ProcessPersister(self._store, record, lease.owner, lease=lease, seconds=seconds)
            try:
                process = self._restored(record, persister)
            except BaseException:
                with suppress(StoreError):  # it expires
                    await self._store.release(lease)
                raise
        self._know(process, persister)
        return process, persister

    def _restored(self, record: RunRecord, persister: ProcessPersister | None = None) -> AgentProcess:
        """What is kept of a process. Its persister lets it be gone on with only by one at a time."""
        here = self.processes.find(record.run_id)
        agent = self._registry.of_record(record) if here is None else here.agent.refresh()
        persister = persister or ProcessPersister(self._store, record, self._owner)
        context = replace(self._context().child(agent.name), run_id=record.run_id, process_id=record.parent_id)
        return AgentProcess.restore(agent, record.state, context, persister=persister)


def _has_ended(process_id: str, status: ProcessStatus) -> RunConflictError:
    return RunConflictError(f"The process {process_id} has ended, and is {status}: nothing goes on with it.")
