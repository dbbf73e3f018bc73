"""The example of a constellation as data, on a script."""

from pathlib import Path

from tactician import Blueprint, RunContext
from tactician.llm.messages import SystemMessage
from tactician.testing import ScriptedModel

DESK = Path(__file__).parents[2] / "examples" / "blueprints" / "front_desk.yaml"


async def test_a_request_goes_to_the_one_who_can_deal_with_it() -> None:
    desk = Blueprint.from_file(DESK).build(environment={})
    model = ScriptedModel("1", "Why did the frog take the bus? Its car got toad.")

    result = await desk.run("A joke about frogs", context=RunContext.over(model))

    assert "toad" in str(result.output)
    assert result.delegation_path == ("Front desk", "Comedian")
    told = model.calls[1].messages[0]
    assert isinstance(told, SystemMessage)
    assert "You are a comedian." in told.text
    assert model.calls[1].options.temperature == 0.8


async def test_a_group_plans_and_one_of_them_says_it() -> None:
    desk = Blueprint.from_file(DESK).build(environment={})
    model = ScriptedModel("2", "Go by train.", "It is late.", "Take an early train.")

    result = await desk.run("I want to go to Paris", context=RunContext.over(model))

    assert result.output == "Take an early train."
    assert [one.output for one in result.related] == ["Go by train.", "It is late."]
