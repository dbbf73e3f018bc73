"""Copies of an agent for one request."""

from __future__ import annotations

from tactician import Agent, LlmOptions, RunContext, tool
from tactician.llm.messages import SystemMessage
from tactician.testing import ScriptedModel, ToolCall
from tactician.tools import DeclaredTool, Tool


def loud(given: Tool) -> Tool:
    return DeclaredTool(given.name.upper(), given.description, execute=lambda call: "LOUD")


@tool
def first() -> str:
    """First."""
    return "1"


@tool
def second() -> str:
    """Second."""
    return "2"


async def test_a_variant_leaves_the_agent_as_it_is() -> None:
    model = ScriptedModel("a", "b")
    agent = Agent("a", instructions="old", model="gpt-5.4")
    changed = agent.with_changes(instructions="new", options=LlmOptions(session="s"))
    context = RunContext.over(model)
    await changed.run("hi", context=context)
    await agent.run("hi", context=context)
    assert [call.messages[0] for call in model.calls] == [SystemMessage("new"), SystemMessage("old")]
    assert [call.options for call in model.calls] == [
        LlmOptions(model="gpt-5.4", session="s"),
        LlmOptions(model="gpt-5.4"),
    ]
    assert (agent.instructions, changed.instructions) == ("old", "new")


async def test_tools_that_the_agent_gets_later_reach_the_variant_too() -> None:
    agent = Agent("a", tools=[first])
    plain, changed = agent.with_changes(), agent.with_changes(tools=loud)
    assert changed.tools is changed.tools
    agent.replace_tools([first, second])
    assert [one.name for one in plain.tools] == ["first", "second"]
    assert [one.name for one in changed.tools] == ["FIRST", "SECOND"]
    model = ScriptedModel(ToolCall("SECOND"), "done")
    await changed.run("go", context=RunContext.over(model))
    assert "LOUD" in model.calls[1].prompt


def test_a_model_that_is_an_object_is_not_changed_by_options() -> None:
    model = ScriptedModel()
    assert Agent("a", model=model).with_changes(options=LlmOptions(session="s")).model is model
