"""The constellation example: a scripted run through all of it, and a run on the embedded model."""

import pytest

from examples.constellation import agent
from tactician import RunContext, RunStatus
from tactician.events import Event
from tactician.loop import TurnStarted
from tactician.testing import ScriptedModel, ToolCall


async def test_a_plan_is_written_and_weighed() -> None:
    model = ScriptedModel(
        "1",
        ToolCall("invoke_writer", request="a picnic"),
        "By the lake.",
        ToolCall("invoke_debate", request="a picnic by the lake"),
        "Sun!",
        "Rain!",
        "Take an umbrella.",
        "By the lake, with an umbrella.",
    )
    events: list[Event] = []
    result = await agent.run("Please plan a picnic", context=RunContext.over(model, events.append))
    assert result.output == "By the lake, with an umbrella."
    assert result.delegation_path == ("Desk", "Planners")
    assert result.usage.requests == 8
    assert ["/".join(event.path) for event in events if isinstance(event, TurnStarted)] == [
        "Desk/Desk classifier",
        "Desk/Planners",
        "Desk/Planners/Writer",
        "Desk/Planners",
        "Desk/Planners/Debate/Optimist",
        "Desk/Planners/Debate/Pessimist",
        "Desk/Planners/Debate/Judge",
        "Desk/Planners",
    ]
    model.assert_exhausted()


@pytest.mark.parametrize(("choice", "answer"), [("2", "Comedian"), ("0", "Host")])
async def test_others_answer_what_is_no_plan(choice: str, answer: str) -> None:
    result = await agent.run("Hello", context=RunContext.over(ScriptedModel(choice, "Ha!")))
    assert result.delegation_path == ("Desk", answer)


@pytest.mark.embedded
async def test_it_runs_on_the_embedded_model() -> None:
    result = await agent.run("Please plan a picnic")
    assert result.status is RunStatus.COMPLETED
    assert result.delegation_path[0] == "Desk"
    assert isinstance(result.output, str)
    assert result.output
    assert result.usage.requests >= 2
    assert result.cost == 0
