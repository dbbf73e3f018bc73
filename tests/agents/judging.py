"""Agents that tests of inherited models run inside others."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from tactician import Agent, Ai, LlmOptions, RunContext, UserInput, achieves_goal, action, planned_agent
from tactician.llm import LanguageModel

Model = str | LlmOptions | LanguageModel


@dataclass(frozen=True)
class Verdict:
    good: bool


HELPER = Agent("Helper", description="helps with everything")


@planned_agent(description="judges")
class Judge:
    @achieves_goal("judged")
    @action
    async def judge(self, text: UserInput, ai: Ai) -> Verdict:
        return await ai.create(Verdict, text.content)


async def with_tool(model: Model, context: RunContext, work: Callable[[], Awaitable[object]]) -> object:
    """Run an agent with a model whose tool does this work."""

    async def ask_helper() -> str:
        """Helps."""
        return str(await work())

    return await Agent("Boss", model=model, tools=[ask_helper]).run("Go", context=context)
