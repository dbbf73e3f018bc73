"""Data sets, and agents whose models are scripted."""

from __future__ import annotations

from collections.abc import Mapping

from pydantic_evals import Case, Dataset
from pydantic_evals.evaluators import EqualsExpected

from tactician import Agent
from tactician.llm import ModelPrice, ModelRequest, ModelResponse, Usage
from tactician.testing import ScriptedModel

SUMS = {"1+1": "2", "2+2": "4", "3+3": "6"}


def sums(expected: Mapping[str, str] = SUMS) -> Dataset[str, str, None]:
    """Return a data set of sums."""
    cases = [Case(name=text, inputs=text, expected_output=result) for text, result in expected.items()]
    return Dataset(name="sums", cases=cases, evaluators=[EqualsExpected()])


class DearModel(ScriptedModel):
    """Model whose every answer costs a dollar."""

    async def generate(self, request: ModelRequest) -> ModelResponse:
        response = await super().generate(request)
        price = ModelPrice(1.0, 0.0)
        return ModelResponse(response.message, Usage(1_000_000, 0, requests=1, model="dear:model", price=price))


def calculator(answers: Mapping[str, str] = SUMS, model: ScriptedModel | None = None) -> tuple[Agent, ScriptedModel]:
    """Return an agent that gives these answers, and its model."""
    model = model or ScriptedModel()
    for text, result in answers.items():
        model.when(prompt_contains=text).reply(result)
    return Agent("Calculator", model=model), model
