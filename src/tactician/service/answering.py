"""Answers requests: each is a run, alone or in a conversation, which may wait and be resumed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace

from tactician.agents import Agent
from tactician.conversation import Conversation
from tactician.errors import AgentNotFoundError
from tactician.llm import AssistantMessage, Text
from tactician.runs import (
    Budget,
    Input,
    Response,
    RunContext,
    Runnable,
    RunResult,
    RunStatus,
    Suspended,
    resume_run,
    start_run,
)
from tactician.service.conversations import Conversations
from tactician.service.requests import Request, prepared
from tactician.service.waiting import WaitingRuns
from tactician.tools import ToolExecutor, as_text

_NAME = "service"


class Answering:
    """Runs the agents of a service.

    Args:
        conversations: where conversations are.
        find: finds the agent of an id.

    Attributes:
        going: how many requests each agent is answering.
    """

    def __init__(self, conversations: Conversations, find: Callable[[str], Runnable]) -> None:
        self._conversations = conversations
        self._find = find
        self._unregistered: dict[str, Runnable] = {}
        self.going: Counter[str] = Counter()

    async def answer(
        self,
        request: Request,
        agent: Runnable,
        context: RunContext,
        *,
        budget: Budget | None = None,
        execute: ToolExecutor | None = None,
    ) -> RunResult[object]:
        """The agent's answer to a new request."""

        async def work(input: Input, child: RunContext) -> RunResult[object]:
            return await self._work(Request.of(input), agent, child, execute, is_new=True)

        result = await start_run(_NAME, request, context, budget, work)
        if result.status is RunStatus.WAITING and request.is_for_model:
            self._unregistered[result.run_id] = agent
        return result

    async def resume(
        self, run_id: str, responses: Mapping[str, Response], context: RunContext, execute: ToolExecutor | None
    ) -> RunResult[object]:
        """The answer to a request whose run waits."""

        async def work(input: Input, child: RunContext) -> RunResult[object]:
            request = Request.of(input)
            agent = self._asked_model(run_id, request) if request.is_for_model else self._find(request.agent)
            return await self._work(request, agent, child, execute, is_new=False)

        result = await resume_run(_NAME, run_id, responses, context, work)
        if result.status is not RunStatus.WAITING:
            self._unregistered.pop(run_id, None)
        return result

    def _asked_model(self, run_id: str, request: Request) -> Runnable:
        if (agent := self._unregistered.get(run_id)) is None:
            raise AgentNotFoundError(
                f"The run {run_id} is a request to the model {request.agent}: only the service that it was made to can "
                "go on with it. Register an agent to go on anywhere."
            )
        return agent

    async def _work(
        self, request: Request, agent: Runnable, context: RunContext, execute: ToolExecutor | None, *, is_new: bool
    ) -> RunResult[object]:
        ready = prepared(agent, request, execute)
        with self._counted(request.agent):
            if request.conversation is None:
                result = await ready.run([*request.history, *request.messages], context=context)
            else:
                result = await self._in_conversation(ready, request, request.conversation, context, is_new=is_new)
        return replace(result, run_id=context.run_id)

    async def _in_conversation(
        self, agent: Runnable, request: Request, conversation_id: str, context: RunContext, *, is_new: bool
    ) -> RunResult[object]:
        """The answer, after all that was asked before in the conversation."""
        waiting = WaitingRuns(context.store)
        async with self._conversations.turn(conversation_id) as conversation:
            if is_new:
                await waiting.begin(conversation)
            try:
                result = await _said(agent, request, conversation, context, is_new=is_new)
            except Suspended:
                await waiting.wait(conversation_id, context.run_id)
                raise
            if not is_new:
                await waiting.end(conversation_id)
            return result

    @contextmanager
    def _counted(self, agent_id: str) -> Iterator[None]:
        self.going[agent_id] += 1
        try:
            yield
        finally:
            self.going[agent_id] -= 1
            if not self.going[agent_id]:
                del self.going[agent_id]


async def _said(
    agent: Runnable, request: Request, conversation: Conversation, context: RunContext, *, is_new: bool
) -> RunResult[object]:
    """The answer, which is a part of the conversation then, with all that led to it where the agent tells that."""
    if not isinstance(agent, Agent):
        result = await agent.run([*conversation.messages, *request.messages], context=context)
        conversation.extend(request.messages)
        conversation.append(_answer(result))
    elif is_new or conversation.open_calls:
        result = await agent.run(request.messages, context=context, conversation=conversation)
    else:  # it waited for one to whom it had handed over: its own part is told already
        result = await agent.run(request.messages, context=context)
        conversation.append(_answer(result))
    return result


def _answer(result: RunResult[object]) -> AssistantMessage:
    return AssistantMessage((Text(as_text(result.output)),))
