"""A run that is cancelled at any of its steps leaves nothing behind, and a conversation that can be gone on with."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing

import pytest

from tactician import Agent, RunContext, guardrails
from tactician.conversation import Conversation
from tactician.guardrails import GuardrailResult
from tactician.llm import ModelRequest, ModelResponse
from tactician.llm import ToolCall as Called
from tactician.llm.model import Delta
from tactician.testing import ScriptedModel, ToolCall
from tests.support.validity import check_valid


class Steps:
    """Counts the points at which a run gives control away, and cancels it at one of them."""

    def __init__(self, cancel_at: int) -> None:
        self.cancel_at = cancel_at
        self.passed = 0
        self.open = 0
        self.task: asyncio.Task[object] | None = None

    async def step(self) -> None:
        self.passed += 1
        self.open += 1
        try:
            if self.passed == self.cancel_at and self.task is not None:
                self.task.cancel()
            await asyncio.sleep(0)
            await asyncio.sleep(0)
        finally:
            self.open -= 1


class SteppingModel(ScriptedModel):
    def __init__(self, steps: Steps, *script: object) -> None:
        super().__init__(*script)
        self._counter = steps

    async def generate(self, request: ModelRequest) -> ModelResponse:
        await self._counter.step()
        response = await super().generate(request)
        await self._counter.step()
        return response

    async def stream(self, request: ModelRequest) -> AsyncGenerator[Delta | ModelResponse]:
        async with aclosing(super().stream(request)) as items:
            async for item in items:
                await self._counter.step()
                yield item


def agent_of(steps: Steps) -> tuple[Agent[str], SteppingModel]:
    async def work(n: int) -> str:
        await steps.step()
        return f"worked {n}"

    @guardrails.input_guardrail(concurrent=True)
    async def looks(text: str) -> GuardrailResult:
        await steps.step()
        return guardrails.passed()

    async def looks_at_tools(call: Called) -> GuardrailResult:
        await steps.step()
        return guardrails.passed()

    async def looks_at_output(text: str) -> GuardrailResult:
        await steps.step()
        return guardrails.passed()

    helper_model = SteppingModel(steps, ToolCall("work", n=9), "helped", ToolCall("work", n=9), "helped")
    helper = Agent("Helper", model=helper_model, tools=[work])
    script = (
        [ToolCall("work", n=1), ToolCall("work", n=2), ToolCall("helper", request="x")],
        ToolCall("work", n=3),
        "the answer",
    )
    model = SteppingModel(steps, *script, *script)
    agent = Agent(
        "A",
        model=model,
        tools=[work, helper.as_tool()],
        input_guardrails=[looks],
        tool_input_guardrails=[looks_at_tools],
        output_guardrails=[looks_at_output],
    )
    return agent, model


async def whole(agent: Agent[str], context: RunContext, conversation: Conversation) -> object:
    return await agent.run("hi", context=context, conversation=conversation)


async def streamed(agent: Agent[str], context: RunContext, conversation: Conversation) -> object:
    listening = context.with_listeners(lambda event: None, streaming=True)
    return await agent.run("hi", context=listening, conversation=conversation)


Way = Callable[[Agent[str], RunContext, Conversation], Awaitable[object]]


async def steps_of(way: Way) -> int:
    steps = Steps(cancel_at=0)
    agent, model = agent_of(steps)
    await way(agent, RunContext.over(model), Conversation())
    return steps.passed


@pytest.mark.parametrize("way", [whole, streamed])
async def test_cancelling_at_each_step(way: Way) -> None:
    count = await steps_of(way)
    assert count > 12
    before = asyncio.all_tasks()
    for cancel_at in range(1, count + 1):
        steps, conversation = Steps(cancel_at), Conversation()
        agent, model = agent_of(steps)
        steps.task = asyncio.ensure_future(way(agent, RunContext.over(model), conversation))

        with pytest.raises(asyncio.CancelledError):
            await steps.task

        assert asyncio.all_tasks() == before, f"cancelled at {cancel_at}: a task is left"
        assert steps.open == 0, f"cancelled at {cancel_at}: something is still open"
        check_valid(conversation.messages)
        assert not conversation.open_calls
