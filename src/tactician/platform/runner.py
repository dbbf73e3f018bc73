"""Work on the runs of a platform: processes are created and run, and runs of all kinds continued."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager, nullcontext
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Final

from tactician.clock import Clock
from tactician.errors import (
    AlreadyAnsweredError,
    ResponseError,
    RunConflictError,
)
from tactician.llm import UserMessage
from tactician.platform.lookup import RunLookup, describe_end
from tactician.process import AgentProcess, Blackboard, ProcessOptions, ProcessStatus
from tactician.process.agent.inputs import add_inputs
from tactician.process.agent.spec import PlannedAgentSpec, check_tool_groups
from tactician.process.people.forms import find_text_request
from tactician.process.saving.saved_state import check_options
from tactician.process.state.options import create_blackboard
from tactician.runs import ChatUser, RunResult, RunStatus, Services
from tactician.runs.life.creation import create_durable_run
from tactician.runs.life.execution import keep_responses
from tactician.runs.life.holding import claim_to_answer
from tactician.runs.outcomes.events import PROCESS_KIND
from tactician.runs.outcomes.suspension import Response
from tactician.runs.progress.record import RunRecord
from tactician.runs.requests.respondents import Respondent, has_answer
from tactician.runs.user import ConversationId
from tactician.stores import DocumentStore
from tactician.stores.document import Lease

if TYPE_CHECKING:
    from tactician.platform.conversations.process_conversations import ProcessConversations

Objects = tuple[object, ...]
_REMEMBERED: Final = frozenset({ProcessStatus.COMPLETED, ProcessStatus.RESTING})


class Runner:
    """Work on the runs of a platform.

    Args:
        lookup: runs of the platform.
        services: services of the platform.
        conversations: returns the conversations of processes.
    """

    def __init__(
        self, lookup: RunLookup, services: Services, conversations: Callable[[], ProcessConversations]
    ) -> None:
        self._lookup = lookup
        self._context = lookup.context
        self._processes = lookup.processes
        self._services = services
        self._conversations = conversations
        self._spawned: set[asyncio.Task[AgentProcess]] = set()

    async def start(self, agent: PlannedAgentSpec, objects: Objects, options: ProcessOptions | None) -> AgentProcess:
        """Create a process, and run it as far as it can go."""
        check_tool_groups(agent, self._context())
        return await self._run(await self._create(agent, objects, options))

    async def spawn(self, agent: PlannedAgentSpec, objects: Objects, options: ProcessOptions | None) -> AgentProcess:
        """Create a process, and run it in a task of its own."""
        check_tool_groups(agent, self._context())
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

    async def respond(
        self, run_id: str, responses: Mapping[str, Response], respondent: Respondent
    ) -> AgentProcess | RunResult[object]:
        """Answer requests of a run that waits, and continue it as far as it can go.

        A process that runs here, since parts of it do not depend on the answer, takes it as soon as any of them ends.
        """
        here = self._processes.find(run_id)
        if here is not None and self._takes_answers(here, responses):
            for request_id, response in responses.items():
                await here.respond(request_id, response, respondent)
            return here
        if not await self._lookup.is_process(run_id):
            return await self._respond_to_run(run_id, responses, respondent)
        try:
            take = partial(self._lookup.take, run_id)
            process = await claim_to_answer(take, run_id, responses.keys(), self._services)
        except (AlreadyAnsweredError, RunConflictError) as error:
            if (kept := await self._lookup.process(run_id)).status.is_terminal:
                for request_id, response in responses.items():
                    kept.answer(request_id, response, respondent)  # which says that it has ended
            if isinstance(error, AlreadyAnsweredError):
                raise
            raise RunConflictError(f"{error} Respond again once it waits.") from None
        async with self._hold_process(process):
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
        runnable = self._lookup.find_runnable(await self._lookup.record(run_id))
        result = await runnable.resume(run_id, responses, context=self._context().inside({Respondent: respondent}))
        for request in result.pending:
            if request.id in responses and request.problem is not None:
                raise ResponseError(f"{request.id}: the answer is not valid: {request.problem}")
        return result

    async def resume(self, run_id: str, objects: Objects) -> AgentProcess | RunResult[object]:
        """Continue a run that rests as far as it can go; a process with more objects."""
        if not await self._lookup.is_process(run_id):
            return await self._resume_run(run_id)
        process = await self._take(run_id)
        async with self._hold_process(process):
            if not process.status.is_terminal:  # else only its record lacks that
                await _add_objects(process, objects, self._services.clock)
            await process.run()
        return process

    async def converse(
        self, agent: PlannedAgentSpec, message: UserMessage, run_id: str, options: ProcessOptions
    ) -> AgentProcess:
        """Give a message to the process with an id, which the first message begins, and run it as far as it can go.

        Text is the answer, where the process asks for a text and for nothing else.
        """
        if not await self._lookup.exists(run_id):
            return await self._begin(agent, message, run_id, options)
        process = await self._take(run_id)
        async with self._hold_process(process):
            if process.status.is_terminal:
                await process.run()  # which finishes its record
                raise describe_end(run_id, process.status)
            if (request := find_text_request(process.pending)) is None:
                await _add_objects(process, (message,), self._services.clock)
                await process.run()
            else:
                await _hear(process, (message,))
                await process.respond(request.id, message.text)
        return process

    async def _begin(
        self, agent: PlannedAgentSpec, message: UserMessage, run_id: str, options: ProcessOptions
    ) -> AgentProcess:
        check_tool_groups(agent, self._context())
        return await self._run(await self._create(agent, (message,), options, run_id))

    async def continue_claimed(
        self, record: RunRecord, lease: Lease, seconds: float
    ) -> AgentProcess | RunResult[object]:
        """Continue a claimed run as far as it can go."""
        if record.kind == PROCESS_KIND:
            return await self._run(await self._lookup.load_claimed(record, lease, seconds))
        try:
            runnable = self._lookup.find_runnable(record)
        except BaseException:
            await self._lookup.release(lease)
            raise
        return await runnable.continue_claimed(record, lease, context=self._context(), seconds=seconds)

    async def step_claimed(self, record: RunRecord, lease: Lease, seconds: float) -> AgentProcess | RunResult[object]:
        """Continue a claimed run: a process by a step, any other run as far as it can go."""
        if record.kind != PROCESS_KIND:
            return await self.continue_claimed(record, lease, seconds)
        process = await self._lookup.load_claimed(record, lease, seconds)
        async with self._hold_process(process):
            await process.run_step()
        return process

    async def keep_answers(self, run_id: str, responses: Mapping[str, Response], respondent: Respondent) -> bool:
        """Keep answers to requests of a run that waits, and make it due. Return whether they are new to the run."""
        process = self._processes.find(run_id)
        try:
            if process is not None and self._takes_answers(process, responses):
                for request_id, response in responses.items():
                    await process.keep_answer(request_id, response, respondent)
                return True
            claim = partial(self._lookup.claim, run_id)
            claimed = await claim_to_answer(claim, run_id, responses.keys(), self._services)
            await keep_responses(*claimed, self._context().inside({Respondent: respondent}), responses)
        except AlreadyAnsweredError:
            if respondent.key is None or not has_answer(await self._lookup.find_tree(run_id), respondent.key):
                raise
            return False
        return True

    async def _resume_run(self, run_id: str) -> RunResult[object]:
        record = await self._lookup.record(run_id)
        runnable = self._lookup.find_runnable(record)
        if record.status is RunStatus.WAITING:
            return await runnable.resume(run_id, {}, context=self._context())
        return await runnable.continue_claimed(*await self._lookup.claim(run_id), context=self._context())

    def _takes_answers(self, process: AgentProcess, responses: Mapping[str, Response]) -> bool:
        """Return whether a process runs here, and asks all that is answered itself, and not what runs inside it."""
        is_held = process.keeper is not None and process.keeper.is_held
        asked = {request.id for request in process.pending}
        return is_held and self._lookup.is_running(process) and responses.keys() <= asked

    async def _create(
        self, agent: PlannedAgentSpec, objects: Objects, options: ProcessOptions | None, run_id: str | None = None
    ) -> AgentProcess:
        """Create a process that has not started, with what its memory knows."""
        if self._services.is_durable:
            check_options(options)
        context, board = self._context().child(agent.name), await create_board(self._services.store, agent, options)
        if run_id is not None:
            context = replace(context, run_id=run_id, root_id=run_id)
        if options is not None and options.user is not None:
            context = context.inside({ChatUser: options.user})
        if options is not None and options.conversation_id is not None:
            context = context.inside({ConversationId: ConversationId(options.conversation_id)})
        is_durable = self._services.is_durable
        keeper = create_durable_run(agent.name, None, context, kind=PROCESS_KIND) if is_durable else None
        process = AgentProcess.create(agent, objects, context, options, keeper, board)
        self._processes.add(process)
        return process

    async def _take(self, process_id: str) -> AgentProcess:
        """Return a process that has not ended, and that nobody else continues meanwhile."""
        process = await self._lookup.take(process_id)
        if process.status.is_terminal:
            raise describe_end(process_id, process.status)
        return process

    async def _run(self, process: AgentProcess) -> AgentProcess:
        async with self._hold_process(process):
            await process.run()
        return process

    @asynccontextmanager
    async def _hold_process(self, process: AgentProcess) -> AsyncIterator[None]:
        """Hold the lease and the conversation of a process; then remember its findings, if it completed or rests."""
        keeper = process.keeper
        try:
            async with nullcontext() if keeper is None else keeper.hold(), self._open_conversation(process):
                yield
        finally:
            self._processes.rest(process)
        memory_id = process.options.memory_id
        if memory_id is not None and process.status in _REMEMBERED:
            from tactician.platform.memories import remember

            await remember(self._services.store, memory_id, process)

    def _open_conversation(self, process: AgentProcess) -> AbstractAsyncContextManager[None]:
        return nullcontext() if process.options.conversation_id is None else self._conversations().open(process)


async def create_board(store: DocumentStore, agent: PlannedAgentSpec, options: ProcessOptions | None) -> Blackboard:
    """Return the blackboard of a new process, with what its memory knows."""
    board = create_blackboard(options)
    if options is None or options.memory_id is None:
        return board
    from tactician.platform.memories import recall

    return await recall(store, options.memory_id, agent, board)


async def _add_objects(process: AgentProcess, objects: Objects, clock: Clock) -> None:
    """Put objects onto the blackboard of a process, and what its user says into its conversation, and save both."""
    before = process.blackboard.size
    add_inputs(process.blackboard, objects, process.agent, clock)
    await _hear(process, [entry.value for entry in process.blackboard.entries[before:]])
    if objects and (keeper := process.keeper) is not None:
        await keeper.save_all("objects", detail=", ".join(type(value).__name__ for value in objects))


async def _hear(process: AgentProcess, objects: Iterable[object]) -> None:
    if (conversation := process.conversation) is not None:
        conversation.hear(objects)
        await conversation.flush()
