from __future__ import annotations

import math
from collections.abc import Callable

import pytest

from tactician.planning import Action, AStarPlanner, Goal, WorldState

NOWHERE = WorldState()


@pytest.mark.parametrize("cost", [-1.0, math.inf, math.nan])
def test_bad_cost_is_refused_by_name(cost: float) -> None:
    with pytest.raises(ValueError, match="'buy gun'"):
        Action("buy gun", cost=cost)

    with pytest.raises(ValueError, match="'buy gun'"):
        Action("buy gun", cost=lambda _: cost).cost_in(NOWHERE)


@pytest.mark.parametrize("value", [math.inf, math.nan])
def test_bad_value_is_refused_by_name(value: float) -> None:
    with pytest.raises(ValueError, match="action 'buy gun'"):
        Action("buy gun", value=value)

    with pytest.raises(ValueError, match="goal 'armed'"):
        Goal("armed", {}, value=value)


def test_bad_cost_of_a_function_is_refused_while_planning() -> None:
    buy = Action("buy gun", effects={"hasGun": True}, cost=lambda _: -1.0)

    with pytest.raises(ValueError, match="'buy gun'"):
        AStarPlanner().plan(NOWHERE, [buy], Goal("armed", {"hasGun": True}))


def test_conditions_are_true_or_false() -> None:
    with pytest.raises(TypeError, match=r"'buy gun'.*'hasGun'"):
        Action("buy gun", effects={"hasGun": None})  # type: ignore[dict-item]


@pytest.mark.parametrize(
    ("make", "told"),
    [
        (lambda: Action(""), "Action: name must not be empty"),
        (lambda: Goal(" ", {}), "Goal: name must not be empty"),
        (lambda: Action(3), "Action: name must be a text, not 3"),  # type: ignore[arg-type]
        (lambda: Action("buy", pre=["a"]), "action 'buy': pre must be a mapping, as {'a': True}, not ['a']"),  # type: ignore[arg-type]
        (lambda: Action("buy", effects="a"), "action 'buy': effects must be a mapping, as {'a': True}, not 'a'"),  # type: ignore[arg-type]
        (lambda: Goal("armed", ["a"]), "goal 'armed': conditions must be a mapping, as {'a': True}, not ['a']"),  # type: ignore[arg-type]
        (lambda: Action("buy", pre={"a": 1}), "action 'buy': condition 'a' in pre must be True or False, not 1"),  # type: ignore[dict-item]
        (lambda: Action("buy", pre={1: True}), "action 'buy': the conditions in pre must have texts as names, not 1"),  # type: ignore[dict-item]
        (
            lambda: Action("buy", cost="x"),  # type: ignore[arg-type]
            "action 'buy': cost must be a number, or a function that returns a number, not 'x'",
        ),
        (
            lambda: Goal("armed", {}, value="x"),  # type: ignore[arg-type]
            "goal 'armed': value must be a number, or a function that returns a number",
        ),
    ],
)
def test_what_cannot_be_is_told_with_its_place(make: Callable[[], object], told: str) -> None:
    with pytest.raises((TypeError, ValueError)) as raised:
        make()
    assert str(raised.value).startswith(told)


def test_a_cost_function_that_gives_no_number() -> None:
    with pytest.raises(TypeError, match="action 'buy': cost must be a number"):
        Action("buy", cost=lambda _: "x").cost_in(NOWHERE)  # type: ignore[arg-type, return-value]


def test_actions_have_names_of_their_own() -> None:
    goal, buy = Goal("armed", {"hasGun": True}), Action("buy", effects={"hasGun": True})
    for same in (buy, Action("buy", effects={"hasKnife": True})):
        with pytest.raises(ValueError, match="there are 2 actions with the name 'buy': give each a name of its own"):
            AStarPlanner().plan(NOWHERE, [buy, same], goal)


def test_actions_are_values() -> None:
    effects = {"hasGun": True}
    action, same = (Action("buy gun", {"hasMoney": True}, effects, cost=1.0) for _ in range(2))
    effects["hasGun"] = False

    assert action == same
    assert hash(action) == hash(same)
    assert action.effects == {"hasGun": True}
    with pytest.raises(TypeError):
        action.effects["hasGun"] = False  # type: ignore[index]


def test_net_value_counts_goal_and_actions() -> None:
    earn = Action("earn", effects={"hasMoney": True}, cost=lambda world: 0.5 if world.get("young") else 2.0, value=0.25)
    buy = Action("buy gun", {"hasMoney": True}, {"hasGun": True}, cost=1.0, value=lambda _: 0.5)

    plan = AStarPlanner().plan(WorldState({"young": True}), [earn, buy], Goal("armed", {"hasGun": True}, value=10.0))

    assert plan is not None
    assert plan.actions == (earn, buy)
    assert plan.costs == (0.5, 1.0)
    assert plan.cost == 1.5
    assert plan.value == 10.75
    assert plan.net_value == 9.25
    assert str(plan) == "earn -> buy gun"


def test_functions_see_the_start_and_are_called_once() -> None:
    seen: list[WorldState] = []

    def cost(world: WorldState) -> float:
        seen.append(world)
        return 1.0

    start = WorldState({"a": True})
    actions = [Action("first", {"a": True}, {"b": True}), Action("second", {"b": True}, {"c": True}, cost)]

    AStarPlanner().plans(start, actions, [Goal("c", {"c": True}), Goal("both", {"b": True, "c": True})])

    assert seen == [start]
