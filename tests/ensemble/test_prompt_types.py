"""Which agents of typed tasks are told in words to write JSON: those whose model writes it."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from pydantic import BaseModel

from tactician import (
    Agent,
    Ensemble,
    PlannedAgent,
    RouterAgent,
    Runnable,
    Task,
    UserInput,
    achieves_goal,
    action,
    planned_agent,
    runnable,
)
from tactician.testing import ScriptedModel


class City(BaseModel):
    name: str


SEEN: list[str] = []


@planned_agent(name="Planner", description="finds a city")
class Finder:
    @achieves_goal("there is a city")
    @action
    async def find(self, asked: UserInput) -> City:
        SEEN.append(asked.content)
        return City(name="Rome")


def find_in_tasks() -> Runnable:
    model = ScriptedModel('{"name": "Rome"}')
    writer = Agent("Writer", model=model)

    @runnable
    async def note(text: str) -> str:
        SEEN.append(text)
        return (await writer.run(text)).output

    return Ensemble("Inner", [Task("{input}", agent=note)])


@runnable
async def look_up(text: str) -> City:
    SEEN.append(text)
    return City(name="Rome")


@runnable
async def read_it(text: str) -> dict[str, str]:
    SEEN.append(text)
    return {"name": "Rome"}


@pytest.mark.parametrize("build", [lambda: PlannedAgent(Finder()), find_in_tasks, lambda: look_up, lambda: read_it])
async def test_no_format_is_described_where_no_model_writes_json(build: Callable[[], Runnable]) -> None:
    SEEN.clear()
    result = await Ensemble("E", [Task("Find", agent=build(), output_type=City)]).run({})
    assert result.output == City(name="Rome")
    assert SEEN
    assert not any("Output Format" in text for text in SEEN)


async def test_the_format_is_described_for_a_router_whose_agent_writes_json() -> None:
    writer = Agent("Writer", model=ScriptedModel('{"name": "Rome"}'))
    router = RouterAgent("Desk", model=ScriptedModel({"value": 1}), routes={"all": writer})
    await Ensemble("E", [Task("Find", agent=router, output_type=City)]).run({})
    assert isinstance(writer.model, ScriptedModel)
    assert "Output Format" in writer.model.calls[0].prompt


async def test_the_format_is_described_for_a_function_that_returns_what_a_model_writes() -> None:
    @runnable
    async def pass_on(text: str) -> str:
        SEEN.append(text)
        return '{"name": "Rome"}'

    SEEN.clear()
    await Ensemble("E", [Task("Find", agent=pass_on, output_type=City)]).run({})
    assert "Output Format" in SEEN[0]
