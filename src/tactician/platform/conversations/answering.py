"""Answers to requests to agents and models."""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import replace
from typing import TypeAlias

from typing_extensions import override

from tactician.agents import BaseRunnable
from tactician.agents.conversations import run_in_conversation
from tactician.cancellation import run_to_completion
from tactician.conversation import ChatUser, Conversation
from tactician.errors import (
    AgentNotFoundError,
    ConfigurationError,
    ConversationConflictError,
    LeaseLostError,
    RunConflictError,
    RunNotFoundError,
    StoreError,
)
from tactician.platform.conversations.conversations import Conversations
from tactician.platform.conversations.open_conversation import OpenConversation
from tactician.platform.conversations.preceding_run import PrecedingRun
from tactician.platform.conversations.request import REQUEST_TYPES, Request, create_model_agent, prepare_agent
from tactician.platform.registry import REQUESTS
from tactician.runs import Budget, Input, RunContext, Runnable, RunResult, RunStatus, resume_run
from tactician.runs.life.creation import RunKey
from tactician.runs.life.execution import continue_run, start_run
from tactician.runs.life.forking import Fork
from tactician.runs.life.holding import kill_run
from tactician.runs.life.inputs import InputTypes
from tactician.runs.outcomes.suspension import Response
from tactician.runs.progress.record import REQUEST_KIND, RunRecord
from tactician.runs.progress.store import RunStore
from tactician.runs.runnable import messages_of
from tactician.runs.user import ConversationId
from tactician.stores import DocumentStore
from tactician.stores.document import Lease
from tactician.tools.declared_tool import ToolExecutor

_Answer: TypeAlias = Callable[[Input, RunContext], Awaitable[RunResult[object]]]


class Requests(BaseRunnable[object]):
    """Runner of requests: each is a run, alone or in a conversation, which any worker of the platform can continue.

    Args:
        conversations: the conversations of the platform.
        find: finds the agent of an id.
        run_names: returns the names of runs that workers of the platform continue.

    Attributes:
        active: how many requests each agent is answering.
    """

    name = REQUESTS
    description = "answers requests to agents and models"

    def __init__(
        self,
        conversations: Conversations,
        find: Callable[[str], Runnable],
        run_names: Callable[[], Collection[str]],
    ) -> None:
        self._conversations = conversations
        self._find = find
        self._run_names = run_names
        self._bound: dict[str, Runnable] = {}
        self.active: Counter[str] = Counter()

    @property
    @override
    def input_types(self) -> InputTypes:
        return REQUEST_TYPES

    async def answer(
        self,
        request: Request,
        agent: Runnable,
        context: RunContext,
        *,
        name: str | None = None,
        budget: Budget | None = None,
        execute: ToolExecutor | None = None,
        key: str | None = None,
    ) -> RunResult[object]:
        """Answer a new request, once for an idempotency key.

        Args:
            request: the request.
            agent: the agent that answers it.
            context: context around the run.
            name: name of the run; the agent's name by default, if workers of the platform continue runs of the agent.
            budget: budget of the run.
            execute: runs the functions that the agent declares.
            key: idempotency key of the run.

        Raises:
            RunConflictError: when a run has the key already.
        """
        if key is None:
            return await self._answer_new(request, agent, context, name, budget, execute)
        await _check_new(key, context.store)
        keyed = context.inside({RunKey: RunKey(key)})
        try:
            return await self._answer_new(request, agent, keyed, name, budget, execute)
        except LeaseLostError:  # the same request has come to another program at the same time
            await _check_new(key, context.store)
            raise

    async def _answer_new(
        self,
        request: Request,
        agent: Runnable,
        context: RunContext,
        name: str | None,
        budget: Budget | None,
        execute: ToolExecutor | None,
    ) -> RunResult[object]:
        context = _enter(request, context)
        run = name or (agent.name if agent.name in self._run_names() and not request.model else REQUESTS)
        async with self._hold(request, context) as opened:
            answer = self._answer(agent, opened, execute)
            result = await start_run(
                run,
                request,
                context,
                budget,
                answer,
                kind=REQUEST_KIND,
                input_types=REQUEST_TYPES,
                runnable=_find_namesake(run, agent),
            )
        if not result.status.is_terminal and request.is_bound:
            self._bound[result.run_id] = agent
        return result

    @override
    async def resume(
        self,
        run_id: str,
        responses: Mapping[str, Response],
        *,
        context: RunContext | None = None,
        conversation: Conversation | None = None,
        execute: ToolExecutor | None = None,
    ) -> RunResult[object]:
        if conversation is not None:
            raise ConfigurationError("A request is resumed in its own conversation: leave conversation= out.")
        outer = context or RunContext.current()
        record = await RunStore(outer.store).load(run_id)
        name = REQUESTS if record is None else record.name
        if record is None or record.kind != REQUEST_KIND or not record.can_resume:
            return await resume_run(
                name, run_id, responses, outer, _refuse, is_request=True
            )  # which says what is wrong
        request = _read_request(record)
        agent = self._find_agent(run_id, request)
        async with self._hold(request, outer, run_id) as opened:
            answer = self._answer(agent, opened, execute)
            result = await resume_run(
                name,
                run_id,
                responses,
                outer,
                answer,
                is_request=True,
                input_types=REQUEST_TYPES,
                runnable=_find_namesake(name, agent),
            )
        if result.status.is_terminal:
            self._bound.pop(run_id, None)
        return result

    @override
    async def continue_claimed(
        self, record: RunRecord, lease: Lease, *, context: RunContext, seconds: float | None = None
    ) -> RunResult[object]:
        async with self._prepare(record, lease, context) as (agent, answer):
            namesake = _find_namesake(record.name, agent)
            return await continue_run(
                record, lease, context, answer, seconds, input_types=REQUEST_TYPES, runnable=namesake
            )

    @override
    async def prepare_fork(self, fork: Fork, input: Input, context: RunContext) -> None:
        request = Request.restore(fork.state.start)
        self._find_agent(fork.run_id, request)
        if request.conversation is not None:
            copied = await self._conversations.copy(request.conversation, request.messages, fork.source.run_id)
            request = replace(request, conversation=copied)
        if input is not None:
            request = replace(request, messages=tuple(messages_of(input)))
        await super().prepare_fork(fork, request, context)

    @override
    async def _work(self, input: Input, context: RunContext) -> RunResult[object]:
        request = Request.of(input)
        agent = self._find_agent(context.run_id, request)
        async with self._hold(request, context, context.run_id) as opened:
            return await self._answer(agent, opened, None)(input, context)

    async def give_up(self, run_id: str, context: RunContext) -> None:
        """End a run that waits, without an answer."""
        self._bound.pop(run_id, None)
        record = await RunStore(context.store).load_readable(run_id)
        if record is None or record.status not in (RunStatus.WAITING, RunStatus.PAUSED):
            return
        if context.is_durable:
            with suppress(RunNotFoundError):
                await kill_run(context.store, run_id, "its conversation was deleted")
        else:
            await RunStore(context.store).delete(run_id)

    @asynccontextmanager
    async def _prepare(
        self, record: RunRecord, lease: Lease, context: RunContext
    ) -> AsyncIterator[tuple[Runnable, _Answer]]:
        """Prepare the continuation of a claimed run. Release its lease if that fails: the run stays as it is."""
        is_ready = False
        try:
            request = _read_request(record)
            agent = self._find_agent(record.run_id, request)
            async with self._hold(request, context, record.run_id) as opened:
                is_ready = True
                yield agent, self._answer(agent, opened, None)
        except BaseException:
            if not is_ready:
                with suppress(StoreError):  # it expires
                    await run_to_completion(context.store.release(lease))
            raise

    @asynccontextmanager
    async def _hold(
        self, request: Request, context: RunContext, run_id: str | None = None
    ) -> AsyncIterator[OpenConversation | None]:
        """Hold the conversation of a request, if any, until its run has ended."""
        if request.conversation is None:
            yield None
            return
        async with self._conversations.hold(request.conversation) as opened:
            while True:
                conversation = await opened.load(is_to_change=True, creates=run_id is None, user=request.user_id)
                await PrecedingRun(context.store, conversation).check_ended(run_id)
                conversation.agent = request.agent
                if opened.is_stored:
                    break
                with suppress(ConversationConflictError):  # another program has begun it at the same moment
                    await opened.save()  # other programs have to find it, if this program dies
            yield opened

    def _find_agent(self, run_id: str, request: Request) -> Runnable:
        if request.model is None:
            return self._find(request.agent)
        if not request.is_bound:
            return create_model_agent(request)
        if (agent := self._bound.get(run_id)) is None:
            raise AgentNotFoundError(
                f"The run {run_id} is a request to the model {request.agent} with tools or an output type: only the "
                "program that it was made to can continue it. Register an agent to continue it anywhere."
            )
        return agent

    def _answer(self, agent: Runnable, opened: OpenConversation | None, execute: ToolExecutor | None) -> _Answer:
        async def answer(input: Input, context: RunContext) -> RunResult[object]:
            request = Request.of(input)
            ready = prepare_agent(agent, request, execute)
            context = _enter(request, context)
            with self._count_request(request.agent):
                if opened is None:
                    result = await ready.run([*request.history, *request.messages], context=context)
                else:
                    async with opened.answer(context) as conversation:
                        result = await _answer_in(conversation, ready, request, context)
            return replace(result, run_id=context.run_id)

        return answer

    @contextmanager
    def _count_request(self, agent_id: str) -> Iterator[None]:
        self.active[agent_id] += 1
        try:
            yield
        finally:
            self.active[agent_id] -= 1
            if not self.active[agent_id]:
                del self.active[agent_id]


async def _answer_in(
    conversation: Conversation, agent: Runnable, request: Request, context: RunContext
) -> RunResult[object]:
    """Answer a request in its conversation."""
    if isinstance(agent, BaseRunnable):
        return await agent.run(request.messages, context=context, conversation=conversation)

    async def work(messages: Input, context: RunContext) -> RunResult[object]:
        return await agent.run(messages, context=context)

    return await run_in_conversation(work, conversation, request.messages, context)


async def _check_new(key: str, store: DocumentStore) -> None:
    for record in await RunStore(store).find(idempotency_key=key, limit=1):
        raise RunConflictError(f"The run {record.run_id} has this idempotency key: it answers the request.")


def _find_namesake(run: str, agent: Runnable) -> Runnable | None:
    """Return the agent of a request if the run has its name: the other runs of requests belong to no single agent."""
    return agent if run == agent.name else None


def _read_request(record: RunRecord) -> Request:
    snapshot = record.snapshot
    assert snapshot is not None, "a record that is continued has its body"
    return Request.restore(snapshot.start)


async def _refuse(input: Input, context: RunContext) -> RunResult[object]:
    raise AssertionError("a run of another name is not resumed")


def _enter(request: Request, context: RunContext) -> RunContext:
    """Return the context in which what runs finds the user and the conversation of a request."""
    services: dict[type, object] = {} if request.user is None else {ChatUser: request.user}
    if request.conversation is not None:
        services[ConversationId] = ConversationId(request.conversation)
    return context.inside(services) if services else context
