"""Static and class methods as tools, in either order of the decorators."""

from __future__ import annotations

import pytest

from tactician import Agent, RunContext, tool
from tactician.llm import ToolResult
from tactician.testing import ScriptedModel, ToolCall
from tactician.tools import FunctionTool, ToolGroup, require_declared_tools


class Shop:
    name = "shop"

    @tool
    @staticmethod
    def outer_static(order: int) -> str:
        """Look up."""
        return f"static {order}"

    @staticmethod
    @tool
    def inner_static(order: int) -> str:
        """Look up."""
        return f"static {order}"

    @tool
    @classmethod
    def outer_class(cls, order: int) -> str:
        """Look up."""
        return f"{cls.name} {order}"

    @classmethod
    @tool
    def inner_class(cls, order: int) -> str:
        """Look up."""
        return f"{cls.name} {order}"


class Branch(Shop):
    name = "branch"


NAMES = ("outer_static", "inner_static", "outer_class", "inner_class")


@pytest.mark.parametrize("name", NAMES)
async def test_they_are_tools_of_an_object(name: str) -> None:
    tools = {one.name: one for one in require_declared_tools(Branch())}
    assert tools[name].spec.parameters["properties"] == {"order": {"type": "integer"}}

    model = ScriptedModel(ToolCall(name, order=3), "done")
    result = await Agent("Clerk", tools=list(tools.values())).run("x", context=RunContext.over(model))

    (answer,) = (message for message in result.messages if isinstance(message, ToolResult))
    assert answer.content == ("static 3" if "static" in name else "branch 3")


@pytest.mark.parametrize("name", NAMES)
async def test_they_are_tools_of_the_class_and_can_be_called(name: str) -> None:
    member = getattr(Branch, name)

    assert isinstance(member, FunctionTool)
    assert member(order=4) == getattr(Branch(), name)(4) == ("static 4" if "static" in name else "branch 4")
    assert await member.call('{"order": 5}', RunContext.over(ScriptedModel())) in ("static 5", "branch 5")


async def test_they_are_tools_of_a_group() -> None:
    assert {one.name for one in await ToolGroup("shop", Shop()).load_tools()} == set(NAMES)


def test_a_parameter_with_the_name_cls_is_one_where_it_has_another_type() -> None:
    @tool
    def classify(cls: str) -> str:
        """Classify."""
        return cls

    assert classify.spec.parameters["properties"] == {"cls": {"type": "string"}}
