"""Runs of a platform: processes are created and run here, and runs of all kinds continued."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager, nullcontext, suppress
from dataclasses import replace
from datetime import datetime
from operator import attrgetter
from typing import TYPE_CHECKING, Final

from typing_extensions import TypedDict

from tactician.agents import BaseRunnable, planned_spec
from tactician.errors import (
    AgentNotFoundError,
    ConfigurationError,
    ResponseError,
    RunConflictError,
    RunNotFoundError,
    StoredStateError,
    StoreError,
)
from tactician.events import EventEmitter, new_id
from tactician.llm import UsageTally, UserMessage
from tactician.platform.processes import Processes
from tactician.platform.registry import Registry
from tactician.process import (
    AgentProcess,
    Blackboard,
    IdleProcess,
    Named,
    PlannedAgentSpec,
    ProcessOptions,
    ProcessStatus,
    add_inputs,
    check_options,
    check_tool_groups,
    create_blackboard,
    find_text_request,
    with_named,
)
from tactician.runs import (
    DEFAULT_LEASE,
    PROCESS_KIND,
    DurableRun,
    InputTypes,
    Respondent,
    Response,
    RunContext,
    RunEnded,
    RunRecord,
    RunResult,
    RunStatus,
    RunStore,
    Services,
    create_durable_run,
    create_record,
    enqueue_run,
    kill_run,
    read_output,
    restore_context,
)
from tactician.stores import Lease

if TYPE_CHECKING:
    from tactician.platform.dialogues import Dialogues

Objects = tuple[object, ...]
_REMEMBERED: Final = frozenset({ProcessStatus.COMPLETED, ProcessStatus.RESTING})
_OURS: Final = frozenset({ProcessStatus.NOT_STARTED, ProcessStatus.RUNNING})


class EnqueueOptions(TypedDict, total=False):
    """Options of a run that is enqueued for workers.

    Attributes:
        named: further objects for a planned agent, by their names.
        options: settings of a process.
        priority: rank among the runs that wait for a worker; the highest comes first.
        deadline: time by which the run has to end.
        idempotency_key: key of the run. Enqueued again with the same key, nothing is started, and the id of the first
            run is returned.
    """

    named: Named | None
    options: ProcessOptions | None
    priority: int
    deadline: datetime | None
    idempotency_key: str | None


class Runner:
    """The processes of a platform.

    Args:
        registry: registered agents.
        context: returns a context for a run on the platform.
        services: services of the platform.
        dialogues: returns the conversations of processes.
        remembered: number of processes that are looked up by their ids when they have ended.

    Attributes:
        context: the same.
    """

    def __init__(
        self,
        registry: Registry,
        context: Callable[[], RunContext],
        services: Services,
        dialogues: Callable[[], Dialogues],
        remembered: int,
    ) -> None:
        self._registry = registry
        self.context = context
        self._dialogues = dialogues
        self._services = services
        self._store = services.store
        self._runs = RunStore(services.store)
        self._is_durable = services.is_durable
        self._owner = f"platform-{new_id()}"
        self._spawned: set[asyncio.Task[AgentProcess]] = set()
        self.processes = Processes(self._wake, is_durable=services.is_durable, limit=remembered)

    async def start(self, agent: PlannedAgentSpec, objects: Objects, options: ProcessOptions | None) -> AgentProcess:
        """Create a process, and run it as far as it can go."""
        check_tool_groups(agent, self.context())
        return await self._run(await self._create(agent, objects, options))

    async def spawn(self, agent: PlannedAgentSpec, objects: Objects, options: ProcessOptions | None) -> AgentProcess:
        """Create a process, and run it in a task of its own."""
        check_tool_groups(agent, self.context())
        process = await self._create(agent, objects, options)
        task = process.spawned = asyncio.create_task(self._run(process))
        self._spawned.add(task)
        task.add_done_callback(self._spawned.discard)
        return process

    async def aclose(self) -> None:
        """Interrupt the processes that were spawned and still run."""
        spawned = tuple(self._spawned)
        for task in spawned:
            task.cancel()
        await asyncio.gather(*spawned, return_exceptions=True)

    async def enqueue(self, agent: object, objects: Objects, settings: EnqueueOptions) -> str:
        """Save a new run for a worker to start, and return its id; that of the first run with the idempotency key.

        Raises:
            ConfigurationError: when there is no store.
        """
        if not self._is_durable:
            raise ConfigurationError("A platform needs a store for workers to find runs: Platform(store=...)")
        key, options, deadline = settings.get("idempotency_key"), settings.get("options"), settings.get("deadline")
        if (known := await self._find_enqueued(key)) is not None:
            return known
        objects = with_named(objects, settings.get("named"))
        runnable = self._registry.runnable(agent)
        around = self.context() if deadline is None else self.context().with_deadline(deadline.timestamp())
        context, is_process = around.child(runnable.name), planned_spec(runnable) is not None
        if is_process:
            spec, board = self._registry.admit(agent), await self.create_board(self._registry.admit(agent), options)
            check_options(options)
            AgentProcess.create(spec, objects, context, options, None, board)
        record = replace(
            create_record(runnable.name, context, PROCESS_KIND if is_process else "run"),
            priority=settings.get("priority", 0),
            idempotency_key=key,
        )
        value = None if is_process else objects[0] if len(objects) == 1 else objects
        types = getattr(runnable, "input_types", InputTypes())
        try:
            return (await enqueue_run(record, value, context, input_types=types)).run_id
        except RunConflictError:
            if (known := await self._find_enqueued(key)) is None:
                raise
            return known

    async def _find_enqueued(self, key: str | None) -> str | None:
        records = [] if key is None else await self._runs.find(idempotency_key=key)
        return records[0].run_id if records else None

    async def respond(
        self, run_id: str, responses: Mapping[str, Response], respondent: Respondent
    ) -> AgentProcess | RunResult[object]:
        """Answer requests of a run that waits, and continue it as far as it can go.

        A process that runs here, since parts of it do not depend on the answer, takes it as soon as any of them ends.
        """
        here = self.processes.find(run_id)
        if here is not None and self._takes_answers(here, responses):
            for request_id, response in responses.items():
                await here.respond(request_id, response, respondent)
            return here
        if not await self._is_process(run_id):
            return await self._respond_to_run(run_id, responses, respondent)
        try:
            process = await self._take(run_id)
        except RunConflictError as error:
            if (kept := await self.process(run_id)).status.is_terminal:
                for request_id, response in responses.items():
                    kept.answer(request_id, response, respondent)  # which says that it has ended
            raise RunConflictError(f"{error} Respond again once it waits.") from None
        async with self._continuing(process):
            for request_id, response in responses.items():
                await process.respond(request_id, response, respondent)
        return process

    async def _respond_to_run(
        self, run_id: str, responses: Mapping[str, Response], respondent: Respondent
    ) -> RunResult[object]:
        """Answer requests of a run that is no process, and continue it.

        Raises:
            ResponseError: when an answer is not valid; then the run still waits.
        """
        runnable = self.find_runnable(await self.record(run_id))
        result = await runnable.resume(run_id, responses, context=self.context().inside({Respondent: respondent}))
        for request in result.pending:
            if request.id in responses and request.problem is not None:
                raise ResponseError(f"{request.id}: the answer is not valid: {request.problem}")
        return result

    async def resume(self, run_id: str, objects: Objects) -> AgentProcess | RunResult[object]:
        """Continue a run that rests as far as it can go; a process with more objects."""
        if not await self._is_process(run_id):
            return await self._resume_run(run_id)
        process = await self._take(run_id)
        if process.status.is_terminal:
            raise _has_ended(run_id, process.status)
        async with self._continuing(process):
            await _add_objects(process, objects)
            await process.run()
        return process

    async def converse(
        self, agent: PlannedAgentSpec, message: UserMessage, run_id: str, options: ProcessOptions
    ) -> AgentProcess:
        """Give a message to the process with an id, which the first message begins, and run it as far as it can go.

        Text is the answer, where the process asks for a text and for nothing else.
        """
        if self.processes.find(run_id) is None and (
            not self._is_durable or await self._runs.load(run_id, with_body=False) is None
        ):
            return await self._begin(agent, message, run_id, options)
        process = await self._take(run_id)
        if process.status.is_terminal:
            raise _has_ended(run_id, process.status)
        async with self._continuing(process):
            if (request := find_text_request(process.pending)) is None:
                await _add_objects(process, (message,))
                await process.run()
            else:
                await _hear(process, (message,))
                await process.respond(request.id, message.text)
        return process

    async def _begin(
        self, agent: PlannedAgentSpec, message: UserMessage, run_id: str, options: ProcessOptions
    ) -> AgentProcess:
        check_tool_groups(agent, self.context())
        return await self._run(await self._create(agent, (message,), options, run_id))

    async def continue_claimed(
        self, record: RunRecord, lease: Lease, seconds: float
    ) -> AgentProcess | RunResult[object]:
        """Continue a claimed run as far as it can go."""
        if record.kind == PROCESS_KIND:
            return await self._run(await self._load_claimed(record, lease, seconds))
        try:
            runnable = self.find_runnable(record)
        except BaseException:
            with suppress(StoreError):  # it expires
                await self._store.release(lease)
            raise
        return await runnable.continue_claimed(record, lease, context=self.context(), seconds=seconds)

    async def step_claimed(self, record: RunRecord, lease: Lease, seconds: float) -> AgentProcess | RunResult[object]:
        """Continue a claimed run: a process by a step, any other run as far as it can go."""
        if record.kind != PROCESS_KIND:
            return await self.continue_claimed(record, lease, seconds)
        process = await self._load_claimed(record, lease, seconds)
        async with self._continuing(process):
            await process.run_step()
        return process

    async def _resume_run(self, run_id: str) -> RunResult[object]:
        record = await self.record(run_id)
        runnable = self.find_runnable(record)
        if record.status is RunStatus.WAITING:
            return await runnable.resume(run_id, {}, context=self.context())
        claimed = await self._runs.claim(self._owner, DEFAULT_LEASE, run_id=run_id)
        if claimed is None:
            if record.has_ended:
                raise _has_ended(run_id, record.status)
            raise RunConflictError(f"The run {run_id} is {record.status}: another worker is continuing it.")
        return await runnable.continue_claimed(*claimed, context=self.context())

    async def find_output(self, run_id: str) -> object:
        """Return the output of a run that has completed; `None` for any other."""
        if await self._is_process(run_id):
            process = await self.process(run_id)
            return process.result if process.status is RunStatus.COMPLETED else None
        record = await self.record(run_id)
        return read_output((await self._runs.load_state(record)).tree)

    async def _is_process(self, run_id: str) -> bool:
        if self.processes.find(run_id) is not None:
            return True
        record = await self._runs.load_readable(run_id)
        if record is None:
            raise RunNotFoundError(f"There is no run with the id {run_id!r}")
        return record.kind == PROCESS_KIND

    def find_runnable(self, record: RunRecord) -> BaseRunnable[object]:
        """Return what runs, where that is not a process.

        Raises:
            AgentNotFoundError: when it is not registered here, or cannot continue a run.
        """
        agent = self._registry.get_agent(record.name)
        if not isinstance(agent, BaseRunnable):
            raise AgentNotFoundError(f"{record.name!r} ({type(agent).__name__}) cannot continue a run.")
        return agent

    async def kill(self, process_id: str, reason: str) -> ProcessStatus:
        """End a run for good, wherever it runs; return its status then.

        Raises:
            RunNotFoundError: when there is none.
            RunConflictError: when it changes too fast.
        """
        process = self.processes.find(process_id)
        if process is not None and (not self._is_durable or process.status in _OURS):
            with suppress(RunConflictError):  # it has continued elsewhere
                await process.kill(reason)
            self.processes.rest(process)
        if self._is_durable:
            record = await self._find_readable(process_id)
            if await kill_run(self._store, process_id, reason):
                if process is not None:
                    await process.kill(reason)
                # Whoever runs it reports the end otherwise.
                if record is not None and (record.status not in _OURS or not record.is_leased):
                    self._report_end(record, reason)
            return (await self.record(process_id)).status
        if process is None:
            raise RunNotFoundError(f"There is no process with the id {process_id!r}")
        return process.status

    async def _find_readable(self, run_id: str) -> RunRecord | None:
        """Return the record of a run, or `None` when this program cannot read it."""
        try:
            return await self.record(run_id)
        except StoredStateError:
            return None

    def _report_end(self, record: RunRecord, reason: str) -> None:
        """Report that a run was killed which nobody runs, so that no other event says so."""
        services = self._services
        emitter = EventEmitter(services.bus, record.run_id, (record.name,), services.clock, record.parent_id)
        spent = record.header.spent
        emitter.emit(
            RunEnded,
            status=RunStatus.KILLED,
            kind=record.kind,
            seconds=spent["seconds"],
            tally=UsageTally.of(spent["usage"]),
            error=reason,
        )

    async def all(self) -> list[AgentProcess]:
        """Return the processes that are known here, oldest first, as they stand."""
        known = [self.processes.find(process.id) for process in self.processes.all()]
        processes = [await self._find_current(process) for process in known if process is not None]
        processes += [await self._find_stored(process_id) for process_id in self.processes.list_stored()]
        return sorted((process for process in processes if process is not None), key=attrgetter("began_at"))

    def _wake(self, idle: IdleProcess) -> AgentProcess:
        return AgentProcess.wake(idle, self.context())

    async def _find_stored(self, process_id: str) -> AgentProcess | None:
        record = await self._runs.load(process_id)
        return None if record is None else await self._restore(record)

    async def _find_current(self, process: AgentProcess) -> AgentProcess | None:
        """Return the process, or a copy of what is kept if it has continued elsewhere; `None` if nothing is kept."""
        keeper = process.keeper
        if keeper is None or keeper.record.has_ended or (process.status in _OURS and not keeper.was_interrupted):
            return process
        record = await self._runs.load(process.id)
        if record is None:
            return None
        return process if keeper.is_current(record) else await self._restore(record)

    async def process(self, process_id: str) -> AgentProcess:
        """Return a process as it stands: itself, where it runs here.

        Raises:
            RunNotFoundError: when there is none, or the run is of another kind.
        """
        process = self.processes.find(process_id)
        if process is not None and (not self._is_durable or self._runs_here(process)):
            return process
        record = await self.record(process_id)
        if record.kind != PROCESS_KIND:
            raise RunNotFoundError(
                f"{process_id} is a run of {record.name!r}, and no process: see `await platform.tree({process_id!r})`."
            )
        return await self._restore(record)

    def _runs_here(self, process: AgentProcess) -> bool:
        keeper = process.keeper
        return process.status is ProcessStatus.RUNNING and not (keeper is not None and keeper.was_interrupted)

    def _takes_answers(self, process: AgentProcess, responses: Mapping[str, Response]) -> bool:
        """Return whether a process runs here, and asks all that is answered itself, and not what runs inside it."""
        is_held = process.keeper is not None and process.keeper.is_held
        asked = {request.id for request in process.pending}
        return is_held and self._runs_here(process) and responses.keys() <= asked

    async def record(self, run_id: str) -> RunRecord:
        """Return the record of a run.

        Raises:
            RunNotFoundError: when there is none.
            StoredStateError: when it cannot be read.
        """
        record = await self._runs.load(run_id)
        if record is None:
            raise RunNotFoundError(f"There is no run with the id {run_id!r} in the store")
        return record

    async def _create(
        self, agent: PlannedAgentSpec, objects: Objects, options: ProcessOptions | None, run_id: str | None = None
    ) -> AgentProcess:
        """Create a process that has not started, with what its memory knows."""
        context, board = await self._prepare(agent, options), await self.create_board(agent, options)
        if run_id is not None:
            context = replace(context, run_id=run_id, root_id=run_id)
        keeper = create_durable_run(agent.name, None, context, kind=PROCESS_KIND) if self._is_durable else None
        process = AgentProcess.create(agent, objects, context, options, keeper, board)
        self.processes.add(process)
        return process

    async def _prepare(self, agent: PlannedAgentSpec, options: ProcessOptions | None) -> RunContext:
        if self._is_durable:
            check_options(options)
        return self.context().child(agent.name)

    async def create_board(self, agent: PlannedAgentSpec, options: ProcessOptions | None) -> Blackboard:
        """Return the blackboard of a new process, with what its memory knows."""
        board = create_blackboard(options)
        if options is None or options.memory_id is None:
            return board
        from tactician.platform.memories import recall

        return await recall(self._store, options.memory_id, agent, board)

    async def _run(self, process: AgentProcess) -> AgentProcess:
        async with self._continuing(process):
            await process.run()
        return process

    @asynccontextmanager
    async def _continuing(self, process: AgentProcess) -> AsyncIterator[None]:
        """Hold the lease and the conversation of a process; then remember its findings, if it completed or rests."""
        keeper = process.keeper
        try:
            async with nullcontext() if keeper is None else keeper.hold(), self._open_dialogue(process):
                yield
        finally:
            self.processes.rest(process)
        memory_id = process.options.memory_id
        if memory_id is not None and process.status in _REMEMBERED:
            from tactician.platform.memories import remember

            await remember(self._store, memory_id, process)

    def _open_dialogue(self, process: AgentProcess) -> AbstractAsyncContextManager[None]:
        return nullcontext() if process.options.conversation_id is None else self._dialogues().open(process)

    async def _take(self, process_id: str) -> AgentProcess:
        """Return a process that nobody else continues meanwhile."""
        if not self._is_durable:
            return await self.process(process_id)
        claimed = await self._runs.claim(self._owner, DEFAULT_LEASE, run_id=process_id)
        if claimed is None:
            if (status := (await self.record(process_id)).status).is_terminal:
                raise _has_ended(process_id, status)
            raise RunConflictError(f"The process {process_id} is {status}: another worker is continuing it.")
        return await self._load_claimed(*claimed)

    async def _load_claimed(self, record: RunRecord, lease: Lease, seconds: float = DEFAULT_LEASE) -> AgentProcess:
        """Return a process whose lease is ours: itself, if it is idle here. Release the lease if that fails."""
        process = self.processes.find(record.run_id)
        try:
            if process is not None and _is_idle(process, record) and process.keeper is not None:
                process.keeper.adopt(record, lease, seconds)
            else:
                process = await self._restore(record, lease, seconds)
        except BaseException:
            with suppress(StoreError):  # it expires
                await self._store.release(lease)
            raise
        self.processes.add(process)
        return process

    async def _restore(
        self, record: RunRecord, lease: Lease | None = None, seconds: float = DEFAULT_LEASE
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

    def find_agent(self, record: RunRecord) -> PlannedAgentSpec:
        """Return the agent of a process.

        Raises:
            AgentNotFoundError: when it is not registered here.
        """
        here = self.processes.find(record.run_id) or self.processes.find_stored(record.run_id)
        return self._registry.of_record(record) if here is None else here.agent.refresh()


def _is_idle(process: AgentProcess, record: RunRecord) -> bool:
    """Return whether the object in memory is idle and equals the record, so that it can continue itself."""
    keeper = process.keeper
    is_same = keeper is not None and process.status is record.status and keeper.is_current(record)
    return is_same and keeper is not None and not keeper.is_held


async def _add_objects(process: AgentProcess, objects: Objects) -> None:
    """Put objects onto the blackboard of a process, and what its user says into its conversation, and save both."""
    before = process.blackboard.size
    add_inputs(process.blackboard, objects, process.agent)
    await _hear(process, [entry.value for entry in process.blackboard.entries[before:]])
    if objects and (keeper := process.keeper) is not None:
        await keeper.save_all("objects", detail=", ".join(type(value).__name__ for value in objects))


async def _hear(process: AgentProcess, objects: Iterable[object]) -> None:
    if (dialogue := process.dialogue) is not None:
        dialogue.hear(objects)
        await dialogue.flush()


def _has_ended(run_id: str, status: ProcessStatus) -> RunConflictError:
    return RunConflictError(f"The run {run_id} has ended, and is {status}: nothing continues it.")
