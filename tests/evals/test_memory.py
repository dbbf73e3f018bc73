"""Memory of an evaluation: that of its report, and of the cases that run at once."""

from __future__ import annotations

import asyncio
import gc
from collections import Counter

from pydantic_evals import Case, Dataset
from pydantic_evals.evaluators import EqualsExpected

from tactician import Agent
from tactician.evals import evaluate
from tactician.evals.entries import TrialEntry
from tactician.llm import ModelRequest, ModelResponse
from tactician.testing import ScriptedModel

CASES, EARLY, AT_ONCE = 1_000, 300, 50


class ForgetfulModel(ScriptedModel):
    """Model that gives way to other cases, and keeps no calls."""

    async def generate(self, request: ModelRequest) -> ModelResponse:
        await asyncio.sleep(0)
        response = await super().generate(request)
        self.calls.clear()
        return response


def count_objects() -> Counter[str]:
    """Return how many objects of each class of the project are alive."""
    gc.collect()
    kinds = (type(each) for each in gc.get_objects())
    return Counter(kind.__name__ for kind in kinds if kind.__module__.startswith("tactician."))


async def test_of_a_case_that_has_ended_only_its_entry_stays() -> None:
    model = ForgetfulModel()
    model.when().reply("2")
    cases = [Case(name=str(number), inputs="1+1", expected_output="2") for number in range(CASES)]
    counted: list[Counter[str]] = []
    done = 0

    def note(entry: TrialEntry) -> None:
        nonlocal done
        done += 1
        if done in (EARLY, CASES):
            counted.append(count_objects())

    dataset = Dataset(name="many", cases=cases, evaluators=[EqualsExpected()])
    report = await evaluate(dataset, Agent("Adder", model=model), max_parallel=AT_ONCE, on_case=note)
    assert len(report.cases) == CASES
    grown = {name: number for name, number in (counted[1] - counted[0]).items() if number > AT_ONCE}
    assert grown == {TrialEntry.__name__: CASES - EARLY}
