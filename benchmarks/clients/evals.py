"""Processor time of a case of an evaluation, in turns in one process: the run alone, `evaluate`, and pydantic-evals."""

from __future__ import annotations

import asyncio
import json
import sys
import time
from collections.abc import Awaitable, Callable

import pydantic_ai
from pydantic_ai.models.test import TestModel
from pydantic_evals import Case, Dataset
from pydantic_evals.evaluators import EqualsExpected

from tactician import Agent, Platform
from tactician.evals import evaluate
from tactician.testing import ScriptedModel

CASES, AT_ONCE = 200, 8
QUESTION, ANSWER = "The capital of France?", "Paris"
Round = Callable[[], Awaitable[object]]


def create_dataset() -> Dataset[str, str, None]:
    cases = [Case(name=f"case {number}", inputs=QUESTION, expected_output=ANSWER) for number in range(CASES)]
    return Dataset(name="capitals", cases=cases, evaluators=[EqualsExpected()])


def list_rounds(platform: Platform) -> dict[str, Round]:
    """Return what takes turns, by name: each runs all cases, and the runs alone need no data set."""
    dataset, model = create_dataset(), ScriptedModel()
    model.when().reply(ANSWER)
    agent = Agent("Geographer", model=model)
    peer = pydantic_ai.Agent(TestModel(custom_output_text=ANSWER, call_tools=[]))

    async def ask_peer(question: str) -> str:
        return (await peer.run(question)).output

    async def run_alone() -> None:
        model.calls.clear()
        for _ in range(CASES):
            assert (await agent.run(QUESTION, context=platform.context())).output == ANSWER

    async def run_peer_alone() -> None:
        for _ in range(CASES):
            assert await ask_peer(QUESTION) == ANSWER

    async def run_evaluation() -> None:
        model.calls.clear()
        report = await evaluate(dataset, agent, max_parallel=AT_ONCE)
        assert len(report.cases) == CASES

    async def run_peer_evaluation() -> None:
        report = await dataset.evaluate(ask_peer, progress=False, max_concurrency=AT_ONCE)
        assert len(report.cases) == CASES

    return {
        "alone": run_alone,
        "evaluate": run_evaluation,
        "peer alone": run_peer_alone,
        "peer evaluate": run_peer_evaluation,
    }


async def measure(repetitions: int) -> list[dict[str, float]]:
    """Return the processor seconds of a case, by name, for each repetition; the first one warms up."""
    measured = []
    async with Platform() as platform:
        rounds = list_rounds(platform)
        for _ in range(repetitions + 1):
            seconds = {}
            for name, run in rounds.items():
                started = time.process_time()
                await run()
                seconds[name] = (time.process_time() - started) / CASES
            measured.append(seconds)
    return measured[1:]


if __name__ == "__main__":
    print(json.dumps(asyncio.run(measure(int(sys.argv[1])))))
