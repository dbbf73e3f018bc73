"""Measures one thing that Tactician does without a network, some times over; prints processor seconds as JSON."""

from __future__ import annotations

import asyncio
import gc
import json
import os
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from pydantic import BaseModel, create_model

from benchmarks import scenario
from benchmarks.clients.harness import get_weather
from benchmarks.turns import BUDGETS, LENGTHS, LONG
from tactician import (
    Agent,
    Autonomous,
    Blueprint,
    Ensemble,
    Platform,
    RunContext,
    Task,
    achieves_goal,
    action,
    guardrails,
    planned_agent,
    tool,
)
from tactician.conversation import SlidingWindow
from tactician.llm import AssistantMessage, Features, ModelRequest, ModelResponse, Responder, Text, ToolCall
from tactician.llm.model import Delta
from tactician.stores import SqliteStore

RUNS = 500
TURNS = 20
ACTIONS = 20
TICKED_RUNS = 20

CALLS = tuple(
    ModelResponse(
        AssistantMessage((ToolCall(f"call_{n}", scenario.TOOL, json.dumps({"city": scenario.CITY})),)),
        finish_reason="tool_calls",
    )
    for n in range(max(LENGTHS))
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
            return CALLS[self.asked - 1]
        self.asked = 0
        return ANSWER

    async def stream(self, request: ModelRequest) -> AsyncIterator[Delta | ModelResponse]:
        yield await self.generate(request)


def stopwatch() -> Callable[[], float]:
    gc.collect()
    started = time.process_time()
    return lambda: time.process_time() - started


async def run_seconds(
    turns: int,
    runs: int = RUNS,
    run_context: RunContext | None = None,
    **options: Any,  # noqa: ANN401
) -> float:
    """Return the seconds of one run that uses a tool `turns` times."""
    agent: Agent = Agent(
        "Bench",
        model=InstantModel(turns),
        instructions=scenario.INSTRUCTIONS,
        tools=[WEATHER],
        max_turns=turns + 1,
        **options,
    )
    for _ in range(max(runs // 10, 1)):
        await agent.run(scenario.PROMPT, context=run_context)
    elapsed = stopwatch()
    for _ in range(runs):
        result = await agent.run(scenario.PROMPT, context=run_context)
    seconds = elapsed() / runs
    assert result.output == scenario.TOOL_ANSWER
    return seconds


async def further_turn_with_all() -> float:
    def fine_input(text: str) -> guardrails.GuardrailResult:
        return guardrails.passed()

    def fine_call(call: ToolCall) -> guardrails.GuardrailResult:
        return guardrails.passed()

    def fine_result(call: ToolCall, content: str) -> guardrails.GuardrailResult:
        return guardrails.passed()

    options = {
        "input_guardrails": [fine_input],
        "output_guardrails": [fine_input],
        "tool_input_guardrails": [fine_call],
        "tool_output_guardrails": [fine_result],
        "window": SlidingWindow(1_000_000),
    }
    context = RunContext.over(InstantModel(0), lambda event: None)
    longer = await run_seconds(TURNS, RUNS, context, **options)
    return (longer - await run_seconds(0, RUNS, context, **options)) / TURNS


async def long_conversations(**options: Any) -> list[float]:  # noqa: ANN401
    """Return the seconds of a turn in conversations of each length."""
    return [await run_seconds(turns, 2000 // turns, **options) / turns for turns in LENGTHS]


async def shown_whole() -> list[float]:
    return await long_conversations()


async def windowed() -> list[float]:
    return await long_conversations(window=SlidingWindow(2000))


async def compacted() -> list[float]:
    autonomy = Autonomous(
        max_iterations=None, end_turn_on_plain_reply=True, compact_after=5, keep_last=3, max_conversation_tokens=2000
    )
    return await long_conversations(autonomy=autonomy)


async def one_turn() -> float:
    return await run_seconds(0)


async def two_agents() -> float:
    """Return the seconds of two plain agents, the second of which works on the answer of the first."""
    model = InstantModel(0)
    first, second = (Agent(name, model=model, instructions=scenario.INSTRUCTIONS) for name in ("First", "Second"))
    for _ in range(RUNS // 10):
        await second.run((await first.run(scenario.PROMPT)).output)
    elapsed = stopwatch()
    for _ in range(RUNS):
        result = await second.run((await first.run(scenario.PROMPT)).output)
    seconds = elapsed() / RUNS
    assert result.output == scenario.TOOL_ANSWER
    return seconds


async def two_tasks() -> float:
    """Return the seconds of an ensemble of the same two agents."""
    model = InstantModel(0)
    agents: list[Agent] = [Agent(name, model=model, instructions=scenario.INSTRUCTIONS) for name in ("First", "Second")]
    tasks = [Task(text, agent=agent) for text, agent in zip((scenario.PROMPT, "Shorten it"), agents, strict=True)]
    ensemble = Ensemble("Bench", tasks)
    for _ in range(RUNS // 10):
        await ensemble.run({})
    elapsed = stopwatch()
    for _ in range(RUNS):
        result = await ensemble.run({})
    seconds = elapsed() / RUNS
    assert result.output == scenario.TOOL_ANSWER
    return seconds


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
    return await tick_of(Platform(models=InstantModel(0)))


async def kept_tick() -> float:
    with TemporaryDirectory() as folder:
        store = SqliteStore(Path(folder) / "runs.db")
        try:
            return await tick_of(Platform(models=InstantModel(0), store=store))
        finally:
            await store.aclose()


async def tick_of(platform: Platform) -> float:
    """Return the seconds of one tick: what a whole process takes, by the number of actions it runs."""
    agent = pipeline()
    await platform.start(agent, STAGES[0]())
    elapsed = stopwatch()
    for _ in range(TICKED_RUNS):
        process = await platform.start(agent, STAGES[0]())
    seconds = elapsed() / TICKED_RUNS / ACTIONS
    assert process.last(STAGES[-1]) is not None, process.failure
    return seconds


async def built(ending: str) -> float:
    """Return the seconds for one of many blueprints in files: an agent with a responder, a tool and a handoff."""
    billing: Agent = Agent("Billing", model=RESPONDER.create_model("openai/gpt-4o"), instructions=scenario.INSTRUCTIONS)
    agent: Agent = Agent(
        "Bench", model=RESPONDER.create_model("openai/gpt-4o"), tools=[get_weather], handoffs=[billing]
    )
    blueprint = agent.to_blueprint()
    with TemporaryDirectory() as folder:
        files = [Path(folder) / f"{number}{ending}" for number in range(RUNS)]
        for file in files:
            file.write_text(blueprint.to_json(indent=2) if ending == ".json" else blueprint.to_yaml())
        Blueprint.from_file(files[0]).build(allow=["benchmarks"])
        elapsed = stopwatch()
        agents = [Blueprint.from_file(file).build(allow=["benchmarks"]) for file in files]
        seconds = elapsed() / RUNS
    assert agents[-1].to_blueprint() == blueprint
    return seconds


async def built_from_json() -> float:
    return await built(".json")


async def built_from_yaml() -> float:
    return await built(".yaml")


os.environ["BENCH_KEY"] = "none"
RESPONDER = Responder(provider="OPEN_ROUTER", api_key_env="BENCH_KEY")
WEATHER = tool(repeatable=True)(get_weather)
MEASURES: dict[str, Callable[[], Awaitable[float | list[float]]]] = dict(
    zip(
        (*BUDGETS, *LONG),
        (
            one_turn,
            two_agents,
            two_tasks,
            further_turn,
            further_turn_with_all,
            construction,
            tick,
            kept_tick,
            built_from_json,
            built_from_yaml,
            shown_whole,
            windowed,
            compacted,
        ),
        strict=True,
    )
)


async def main() -> None:
    measure, times = MEASURES[sys.argv[1]], int(sys.argv[2])
    print(json.dumps([await measure() for _ in range(times)]))


if __name__ == "__main__":
    asyncio.run(main())
