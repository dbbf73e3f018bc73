from __future__ import annotations

import math

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
