"""The consultancy example: a scripted run."""

from examples.consultancy import agent
from tactician import RunContext
from tactician.testing import ScriptedModel, ToolCall


async def test_the_analyst_delegates_under_the_policies() -> None:
    model = ScriptedModel(
        [
            ToolCall("delegate_task", role="Researcher", task="Find out why frogs sing"),
            ToolCall("delegate_task", role="Critic", task="Read the letter of the client"),
        ],
        "To be found. Source: a pond.",
        "Frogs sing to be found.",
    )
    result = await agent.run("Why do frogs sing?", context=RunContext.over(model))
    assert result.output == "Frogs sing to be found."
    assert [(one.role, one.status, one.raw) for one in result.delegations] == [
        ("Researcher", "success", "To be found. Source: a pond."),
        ("Critic", "failure", None),
    ]
    assert "Each fact with its source" in model.calls[1].prompt
    assert "leave out the name of the client" in model.calls[2].prompt
