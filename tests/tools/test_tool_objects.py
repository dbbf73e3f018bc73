"""Tool objects, selections by name, the names of the guide's groups, and the group for arithmetic."""

from __future__ import annotations

import pytest

from tactician import Agent, Ai, Platform, ToolGroup, tool
from tactician.errors import ConfigurationError, DeclarationError
from tactician.runs import RunContext
from tactician.testing import ScriptedModel, ToolCall
from tactician.tools import CoreToolGroups, ToolObject
from tactician.tools.builtin.math_tools import MathTools
from tactician.tools.selection import NameFilter, NamingStrategy
from tactician.tools.toolbox import Toolbox, find_declared_tools


class Calculator:
    """A calculator."""

    def __init__(self, factor: int) -> None:
        self.factor = factor

    @tool
    def compute_sum(self, a: int, b: int) -> int:
        """Add two numbers."""
        return (a + b) * self.factor

    @tool
    def compute_product(self, a: int, b: int) -> int:
        """Multiply two numbers."""
        return a * b * self.factor

    @tool(needs_approval=True)
    def reset(self) -> None:
        """Reset the calculator."""


def shown(model: ScriptedModel) -> list[str]:
    return [spec.name for spec in model.calls[0].tools]


async def test_add_a_tool_object_with_filtering_and_a_custom_naming_strategy() -> None:
    model = ScriptedModel(ToolCall("calc_compute_sum", a=2, b=3), "50")
    ai = model.ai().with_tool_object(
        Calculator(10), named=lambda name: f"calc_{name}", only=lambda name: name.startswith("compute")
    )
    await ai.generate_text("2 + 3?")

    assert shown(model) == ["calc_compute_sum", "calc_compute_product"]
    assert "50" in str(model.calls[1].messages)


@pytest.mark.parametrize(
    ("only", "names"),
    [("compute_*", ["compute_sum", "compute_product"]), (["reset", "*_sum"], ["compute_sum", "reset"])],
)
def test_the_filter_may_be_patterns(only: NameFilter, names: list[str]) -> None:
    assert [each.name for each in ToolObject(Calculator(1), only=only)] == names


def test_the_filter_is_on_the_original_name() -> None:
    tools = ToolObject(Calculator(1), only="compute_sum", named="x_")
    assert [each.name for each in tools] == ["x_compute_sum"]
    with pytest.raises(DeclarationError, match="lets no tool through: compute_sum, compute_product, reset"):
        ToolObject(Calculator(1), only="x_*", named="x_")


def test_another_name_changes_nothing_else() -> None:
    (reset,) = ToolObject(Calculator(1), only="reset", named="calc_")
    assert reset.traits.needs_approval
    assert reset.description == "Reset the calculator."


@pytest.mark.parametrize(
    ("named", "problem"),
    [
        (lambda name: f"calc {name}", "'calc compute_sum'"),
        (lambda name: "same", "'same' is used twice"),
        ("x" * 60, "no provider"),
    ],
)
def test_a_naming_strategy_gives_valid_and_distinct_names(named: NamingStrategy, problem: str) -> None:
    with pytest.raises(DeclarationError, match=problem):
        ToolObject(Calculator(1), named=named)


async def test_tool_objects_fit_agents_and_groups() -> None:
    model = ScriptedModel("done")
    group = ToolGroup("calc", ToolObject(Calculator(1), named="b_"))
    agent = Agent(
        "Clerk", model=model, tools=[*ToolObject(Calculator(1), named="a_", only="reset")], tool_groups=[group]
    )
    await agent.run("go", context=RunContext.over(model))

    assert shown(model) == ["a_reset", "b_compute_sum", "b_compute_product", "b_reset"]


async def test_a_group_leaves_out_what_it_excludes() -> None:
    group = ToolGroup("calc", Calculator(1), exclude=["compute_p*"])
    assert [each.name for each in await group.load_tools()] == ["compute_sum", "reset"]


class TestCoreGroups:
    def test_the_names_of_the_guide(self) -> None:
        names = (
            CoreToolGroups.WEB,
            CoreToolGroups.MATH,
            CoreToolGroups.MAPS,
            CoreToolGroups.BROWSER_AUTOMATION,
            CoreToolGroups.GITHUB,
        )
        assert names == ("web", "math", "maps", "browser_automation", "github")

    async def test_the_group_for_arithmetic_is_everywhere(self) -> None:
        model = ScriptedModel(ToolCall("divide", a=10, b=4), "2.5")
        await model.ai().with_tool_group(CoreToolGroups.MATH).generate_text("10 / 4?")
        assert {"add", "subtract", "multiply", "divide", "mean", "min", "max", "floor", "ceiling", "round"} == set(
            shown(model)
        )
        assert "2.5" in str(model.calls[1].messages)

    async def test_a_program_may_have_its_own(self) -> None:
        model = ScriptedModel("done")
        platform = Platform(model, tool_groups=[ToolGroup("math", Calculator(1))])
        await Ai(platform.context()).with_tool_group("math").generate_text("go")
        assert "compute_sum" in shown(model)

    async def test_only_the_platform_provides_the_others(self) -> None:
        with pytest.raises(ConfigurationError, match=r"'web' here\. Known: math"):
            await ScriptedModel().ai().with_tool_group(CoreToolGroups.WEB).generate_text("go")

    @pytest.mark.parametrize(
        ("call", "result"),
        [
            (ToolCall("add", a=1, b=2), "3"),
            (ToolCall("subtract", a=1, b=2), "-1"),
            (ToolCall("multiply", a=3, b=2), "6"),
            (ToolCall("mean", numbers=[1, 2]), "1.5"),
            (ToolCall("min", numbers=[1, 2]), "1"),
            (ToolCall("max", numbers=[1, 2]), "2"),
            (ToolCall("floor", number=1.5), "1"),
            (ToolCall("ceiling", number=1.5), "2"),
            (ToolCall("round", number=1.25, digits=1), "1.2"),
            (ToolCall("divide", a=1, b=0), "cannot be divided by 0"),
            (ToolCall("multiply", a=1e300, b=1e300), "too large"),
            (ToolCall("mean", numbers=[]), "at least 1 item"),
        ],
    )
    async def test_arithmetic(self, call: ToolCall, result: str) -> None:
        answer = await Toolbox(find_declared_tools(MathTools())).answer(
            call.to_call("1"), RunContext.over(ScriptedModel())
        )
        assert result in answer.content
