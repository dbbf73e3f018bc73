"""Measures one thing that Tactician does without a network, some times over; prints processor seconds as JSON."""

from __future__ import annotations

import asyncio
import gc
import json
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

from pydantic import BaseModel, create_model

from benchmarks import scenario
from benchmarks.clients.harness import get_weather
from benchmarks.turns import BUDGETS
from tactician import Agent, Platform, achieves_goal, action, planned_agent, tool
from tactician.llm import AssistantMessage, Delta, Features, ModelRequest, ModelResponse, Text, ToolCall

RUNS = 500
TURNS = 20
ACTIONS = 20
TICKED_RUNS = 20

CALL = ModelResponse(
    AssistantMessage((ToolCall("call_1", scenario.TOOL, json.dumps({"city": scenario.CITY})),)),
    finish_reason="tool_calls",
)
ANSWER = ModelResponse(AssistantMessage((Text(scenario.TOOL_ANSWER),)))


class InstantModel:
    """Asks for a tool in the first `turns` calls of a run, then answers; takes no time over it."""

    name = "instant"
    features = Features(tools=True)

    def __init__(self, turns: int) -> None:
        self.turns = turns
        self.asked = 0

    async def generate(self, request: ModelRequest) -> ModelResponse:
        if self.asked < self.turns:
            self.asked += 1
            return CALL
        self.asked = 0
        return ANSWER

    async def stream(self, request: ModelRequest) -> AsyncIterator[Delta | ModelResponse]:
        yield await self.generate(request)


def stopwatch() -> Callable[[], float]:
    gc.collect()
    started = time.process_time()
    return lambda: time.process_time() - started


async def run_seconds(turns: int) -> float:
    """Return the seconds of one run that uses a tool `turns` times."""
    agent = Agent(
        "Bench", model=InstantModel(turns), instructions=scenario.INSTRUCTIONS, tools=[WEATHER], max_turns=turns + 1
    )
    for _ in range(RUNS // 10):
        await agent.run(scenario.PROMPT)
    elapsed = stopwatch()
    for _ in range(RUNS):
        result = await agent.run(scenario.PROMPT)
    seconds = elapsed() / RUNS
    assert result.output == scenario.TOOL_ANSWER
    return seconds


async def one_turn() -> float:
    return await run_seconds(0)


async def further_turn() -> float:
    return (await run_seconds(TURNS) - await run_seconds(0)) / TURNS


async def construction() -> float:
    elapsed = stopwatch()
    for _ in range(RUNS):
        Agent("Bench", model=scenario.MODEL, instructions=scenario.INSTRUCTIONS, tools=[WEATHER])
    return elapsed() / RUNS


def stage(number: int, given: type[BaseModel], result: type[BaseModel]) -> Any:  # noqa: ANN401
    """Build an action that turns one stage's value into the next one's; the last reaches the goal."""

    async def act(self: object, given: BaseModel) -> BaseModel:
        return result()

    act.__name__ = f"stage{number}"
    act.__annotations__ = {"given": given, "return": result}
    built = action(act)
    return achieves_goal("The last stage is reached")(built) if number == ACTIONS else built


STAGES = [create_model(f"Stage{number}", __module__=__name__) for number in range(ACTIONS + 1)]


def pipeline() -> Any:  # noqa: ANN401
    """Build an instance of a planned agent whose plan has one order only."""
    methods = {f"stage{n}": stage(n, STAGES[n - 1], STAGES[n]) for n in range(1, ACTIONS + 1)}
    return planned_agent(description="Twenty trivial stages")(type("Pipeline", (), methods))()


async def tick() -> float:
    """Return the seconds of one tick: what a whole process takes, by the number of actions it runs."""
    platform, agent = Platform(models=InstantModel(0)), pipeline()
    await platform.start(agent, STAGES[0]())
    elapsed = stopwatch()
    for _ in range(TICKED_RUNS):
        process = await platform.start(agent, STAGES[0]())
    seconds = elapsed() / TICKED_RUNS / ACTIONS
    assert process.last(STAGES[-1]) is not None, process.failure
    return seconds


WEATHER = tool(get_weather)
MEASURES: dict[str, Callable[[], Awaitable[float]]] = dict(
    zip(BUDGETS, (one_turn, further_turn, construction, tick), strict=True)
)


async def main() -> None:
    measure, times = MEASURES[sys.argv[1]], int(sys.argv[2])
    print(json.dumps([await measure() for _ in range(times)]))


if __name__ == "__main__":
    asyncio.run(main())
