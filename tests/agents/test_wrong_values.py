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
)
from tactician.planning import UtilityPlanner
from tactician.testing import ScriptedModel
from tests.agents.running import started
from tests.agents.test_mistakes import Correct, Story, problems_of

F = Callable[..., object]


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ({"retry": 3}, "the retry is 3; write RetryPolicy(attempts=3)"),
        ({"retry": "often"}, "the retry is 'often'; write RetryPolicy(attempts=3)"),
        ({"cost": "high"}, "the cost is 'high'; it has to be a number from 0 up"),
        ({"cost": True}, "the cost is True; it has to be a number from 0 up"),
        ({"value": "high"}, "the value is 'high'; it has to be a number"),
        ({"output_binding": 3}, "the output_binding is 3; it has to be a name"),
        ({"output_binding": ""}, "the output_binding is ''; it has to be a name"),
    ],
)
def test_what_an_action_says(said: dict[str, Any], told: str) -> None:
    @planned_agent(description="d")
    class Agent(Correct):
        @action(**said)
        def write(self, user_input: UserInput) -> Story:
            return Story("")

    assert problems_of(Agent()) == (f"write: {told}",)


def test_what_an_agent_says() -> None:
    @planned_agent(description=" ", planner="utilty")
    class Agent(Correct):
        """Says what it is for here."""

    assert problems_of(Agent()) == (
        "the description is ' '; say what the agent is for, as others choose it by that",
        "there is no planner 'utilty'; write one of Planner.GOAP, Planner.UTILITY, Planner.HYBRID, Planner.SUPERVISOR",
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

    assert problems_of(Agent()) == (
        'bare: its goal has no description; write @achieves_goal("what is reached")',
        'empty: its goal has no description; write @achieves_goal("what is reached")',
        "empty: the value of its goal is 'high'; it has to be a number",
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

    assert problems_of(Agent()) == tuple(
        f"{name}: it has to be a plain method; take @staticmethod or @classmethod away" for name in ("write", "ready")
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

    assert problems_of(Agent()) == tuple(
        f"{name}: it yields, and has to give one thing; return it" for name in ("write", "draft", "ready")
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

    assert problems_of(Agent()) == (
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
