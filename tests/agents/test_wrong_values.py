"""Values in decorators that cannot be, and methods of the wrong shape: found when the agent is registered."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from typing import Any

import pytest

from tactician import (
    Planner,
    Platform,
    UserInput,
    achieves_goal,
    action,
    condition,
    cost,
    planned_agent,
    state,
)
from tactician.errors import DeclarationError
from tactician.planning import UtilityPlanner
from tactician.process import Export
from tactician.testing import ScriptedModel
from tests.agents.running import started
from tests.agents.test_mistakes import Correct, Story, find_problems

F = Callable[..., object]


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ({"retry": 3}, "the retry is 3; write ActionRetryPolicy(attempts=3)"),
        ({"retry": "often"}, "the retry is 'often'; write ActionRetryPolicy(attempts=3)"),
        ({"cost": "high"}, "the cost is 'high'; it must be a number from 0 up, or MEASURED"),
        ({"cost": True}, "the cost is True; it must be a number from 0 up, or MEASURED"),
        ({"value": "high"}, "the value is 'high'; it must be a number"),
        ({"output_binding": 3}, "the output_binding is 3; it must be a name"),
        ({"output_binding": ""}, "the output_binding is ''; it must be a name"),
        ({"can_rerun": "no"}, "can_rerun is 'no'; it must be True or False"),
        ({"clear_blackboard": 3}, "clear_blackboard is 3; it must be True or False"),
        ({"blocking": "x"}, "blocking is 'x'; it must be True or False"),
        ({"description": 3}, "the description is 3; it must be a text"),
        ({"cost_method": 3}, "the cost_method is 3; write the name of a @cost method"),
        ({"value_method": 3}, "the value_method is 3; write the name of a @cost method"),
        ({"pre": [3]}, "3 in `pre` is not a name; write the name of a @condition, or an expression"),
        ({"pre": 3}, "3 in `pre` is not a name; write the name of a @condition, or an expression"),
        ({"post": [None]}, "None in `post` is not a name; write the name of a condition"),
        ({"tool_groups": [3]}, "3 in `tool_groups` is not a name; write the name of a ToolGroup"),
        ({"tool_groups": ""}, "'' in `tool_groups` is not a name; write the name of a ToolGroup"),
    ],
)
def test_what_an_action_says(said: dict[str, Any], told: str) -> None:
    @planned_agent(description="d")
    class Agent(Correct):
        @action(**said)
        def write(self, user_input: UserInput) -> Story:
            return Story("")

    assert find_problems(Agent()) == (f"write: {told}",)


@pytest.mark.parametrize(
    ("export", "told"),
    [
        ({"name": "x"}, "the export is {'name': 'x'}; write Export(name=...)"),
        (Export(name=3), "Export.name is 3; it must be a name"),  # type: ignore[arg-type]  # on purpose
        (Export(name=""), "Export.name is ''; it must be a name"),
        (Export(remote="x"), "Export.remote is 'x'; it must be True or False"),  # type: ignore[arg-type]  # on purpose
        (Export(local=1), "Export.local is 1; it must be True or False"),  # type: ignore[arg-type]  # on purpose
        (
            Export(starting_input_types=["Story"]),  # type: ignore[list-item]  # on purpose
            "'Story' in Export.starting_input_types is not a class; write the class itself, as in [Order]",
        ),
        (
            Export(starting_input_types=[list[Story]]),
            f"{list[Story]!r} in Export.starting_input_types is not a class; write the class itself, as in [Order]",
        ),
        (
            Export(starting_input_types=Story),  # type: ignore[arg-type]  # on purpose
            f"Export.starting_input_types is {Story!r}; write a list of classes, as in [Order]",
        ),
    ],
)
def test_how_a_goal_is_exported(export: Any, told: str) -> None:  # noqa: ANN401 - on purpose
    @planned_agent(description="d")
    class Agent:
        @achieves_goal("a story", export=export)
        @action
        def write(self, user_input: UserInput) -> Story:
            return Story("")

    assert find_problems(Agent()) == (f"write: {told}",)


@pytest.mark.parametrize(
    ("declare", "told"),
    [
        (lambda: action("x"), "@action.*it received 'x', which is not a method; write @action above a method"),  # type: ignore[call-overload]
        (lambda: action()(property(len)), "@action.*it received <property .*, which is not a method"),  # type: ignore[type-var]
        (lambda: action(Story), "@action.*which is not a method"),
        (lambda: condition(3), "@condition.*it received 3, which is not a method; write @condition above a method"),  # type: ignore[call-overload]
        (lambda: cost("x"), "@cost.*it received 'x', which is not a method"),  # type: ignore[call-overload]
        (lambda: achieves_goal("g")("x"), "@achieves_goal.*it received 'x', which is not a method"),  # type: ignore[type-var]
        (lambda: state(5), "@state.*it received 5, which is not a class; write @state above a class"),  # type: ignore[call-overload]
    ],
)
def test_decorators_of_what_they_are_not_for(declare: Callable[[], object], told: str) -> None:
    with pytest.raises(DeclarationError, match=f"(?s){told}"):
        declare()


def test_all_of_one_class_are_told_together() -> None:
    resolvers: dict[Any, Any] = {Story: 3, "Story": str}

    @planned_agent(description="d", resolvers=resolvers)
    class Agent(Correct):
        @action(pre=[3], blocking="x")  # type: ignore[call-overload, untyped-decorator]  # on purpose
        def write(self, user_input: UserInput) -> Story:
            return Story("")

    assert find_problems(Agent()) == (
        "the resolver of Story is 3; write a function of the OperationContext",
        "the resolvers have 'Story', which is not a class; name the class of a parameter",
        "write: blocking is 'x'; it must be True or False",
        "write: 3 in `pre` is not a name; write the name of a @condition, or an expression",
    )


def test_what_an_agent_says() -> None:
    @planned_agent(description=" ", planner="utilty")
    class Agent(Correct):
        """Says what it is for here."""

    assert find_problems(Agent()) == (
        "the description is ' '; say what the agent is for, as others choose it by that",
        "there is no planner 'utilty'; use one of Planner.GOAP, Planner.UTILITY, Planner.HYBRID, Planner.SUPERVISOR",
    )


@pytest.mark.parametrize("planner", ["utility", Planner.UTILITY])
async def test_a_planner_may_be_named(planner: Planner | str) -> None:
    @planned_agent(description="needs no goal", planner=planner)
    class Agent:
        @action
        def write(self, user_input: UserInput) -> Story:
            return Story("")

    process = await started(Agent(), "x")
    assert isinstance(process.agent.planner, UtilityPlanner)


def test_a_goal_without_parentheses_a_description_or_a_value() -> None:
    @planned_agent(description="d")
    class Agent:
        @achieves_goal  # type: ignore[arg-type]  # on purpose
        @action
        def bare(self, user_input: UserInput) -> Story:  # type: ignore[misc]
            return Story("")

        @achieves_goal("", value="high")  # type: ignore[arg-type]  # on purpose
        @action
        def empty(self, user_input: UserInput) -> Story:
            return Story("")

    assert find_problems(Agent()) == (
        'bare: its goal has no description; write @achieves_goal("The report is written")',
        'empty: its goal has no description; write @achieves_goal("The report is written")',
        "empty: the value of its goal is 'high'; it must be a number",
    )


def test_decorators_above_staticmethod() -> None:
    @planned_agent(description="d")
    class Agent(Correct):
        @achieves_goal("a story")
        @action
        @staticmethod
        def write(user_input: UserInput) -> Story:
            return Story("")

        @condition
        @classmethod
        def ready(cls, user_input: UserInput) -> bool:
            return True

    assert find_problems(Agent()) == tuple(
        f"{name}: it must be a plain method; take @staticmethod or @classmethod away" for name in ("write", "ready")
    )


def test_methods_that_yield() -> None:
    @planned_agent(description="d")
    class Agent(Correct):
        @action
        async def write(self, user_input: UserInput) -> AsyncIterator[Story]:
            yield Story("")

        @action
        def draft(self, user_input: UserInput) -> Iterator[Story]:
            yield Story("")

        @condition
        def ready(self, user_input: UserInput) -> Iterator[bool]:
            yield True

    assert find_problems(Agent()) == tuple(
        f"{name}: it is a generator; return an object instead of yielding" for name in ("write", "draft", "ready")
    )


def test_conditions_and_costs_of_the_wrong_type() -> None:
    @planned_agent(description="d")
    class Agent(Correct):
        @condition
        def ready(self, user_input: UserInput) -> str:
            return "no"

        @condition
        def perhaps(self, user_input: UserInput) -> bool | None:
            return None

        @cost
        async def dear(self) -> str:
            return "high"

    assert find_problems(Agent()) == (
        "ready: it returns str, and a condition holds or not; write `-> bool`",
        "perhaps: it returns bool | None, and a condition holds or not; write `-> bool`",
        "dear: it returns str, and a cost is a number; write `-> float`",
    )


def test_conditions_and_costs_of_the_right_type() -> None:
    @planned_agent(description="d")
    class Agent(Correct):
        @condition
        def later(self, user_input: UserInput) -> Awaitable[bool]:
            raise NotImplementedError

        @condition
        def anything(self, user_input: UserInput) -> Any:  # noqa: ANN401 - on purpose
            return True

        @cost
        def dear(self) -> int | float:
            return 1

        @cost
        def unsaid(self):  # type: ignore[no-untyped-def]  # noqa: ANN202 - on purpose
            return 1

    assert list(Platform(ScriptedModel()).register(Agent()).agents) == ["Agent"]
