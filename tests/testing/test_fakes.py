"""`FakeContext`: an action is called directly, with a context over a scripted model."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from tactician import Ai, OperationContext, UserInput, achieves_goal, action, condition, planned_agent, tool
from tactician.testing import FakeContext, ScriptedModel, ScriptError, ToolCall
from tactician.tools import ToolGroup


@dataclass(frozen=True)
class Story:
    text: str


@planned_agent(description="writes")
class Writer:
    @condition
    def has_input(self, context: OperationContext) -> bool:
        return context.blackboard.last(UserInput) is not None

    @achieves_goal("a story")
    @action(pre=["has_input"])
    async def write(self, context: OperationContext) -> Story:
        topic = context.blackboard.last(UserInput)
        assert topic is not None
        context.blackboard["topic"] = topic
        return await context.ai.create(Story, topic.content)


async def test_an_action_is_called_with_a_fake_context() -> None:
    model = ScriptedModel(Story("x"))
    context = FakeContext(model, UserInput("frogs"))
    assert await Writer().write(context) == Story("x")
    assert model.calls[0].prompt == "frogs"
    assert context.blackboard["topic"] == UserInput("frogs")


def test_a_condition_is_called_with_a_fake_context() -> None:
    assert Writer().has_input(FakeContext(None, UserInput("frogs")))
    assert not Writer().has_input(FakeContext())


async def test_without_a_script_a_call_to_the_model_fails() -> None:
    with pytest.raises(ScriptError, match="call 1 has no step"):
        await Writer().write(FakeContext(None, UserInput("frogs")))


def test_it_is_an_operation_context_with_a_process() -> None:
    context = FakeContext()
    assert isinstance(context, OperationContext)
    assert context.process.blackboard is context.blackboard
    assert len(context.blackboard) == 0


async def test_an_action_may_use_the_tool_groups_of_its_context() -> None:
    @tool
    def search(text: str) -> str:
        """Search."""
        return f"about {text}"

    model = ScriptedModel(ToolCall("search", text="frogs"), "done")
    context = FakeContext(model, UserInput("frogs"), tool_groups=[ToolGroup("web", [search])])
    assert await context.ai.generate_text("Look it up") == "done"
    assert "about frogs" in model.calls[1].prompt
    assert [one.name for one in model.calls[0].tools] == ["search"]
    assert await Ai.over(ScriptedModel("x")).generate_text("no tools here") == "x"
