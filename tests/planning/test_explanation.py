from __future__ import annotations

from tactician.planning import Action, AStarPlanner, Explanation, Goal, WorldState

BUY = Action("buy gun", {"hasMoney": True}, {"hasGun": True, "hasMoney": False}, cost=1.5)
ARMED = Goal("armed", {"hasGun": True}, value=4.0)


def explain(actions: list[Action], goal: Goal = ARMED, **known: bool) -> Explanation:
    return AStarPlanner().explain(WorldState(known), actions, goal)


def test_plan_with_costs_and_net_value() -> None:
    explanation = explain([BUY, Action("earn", {}, {"hasMoney": True}, cost=1)])

    assert explanation.plan is not None
    assert explanation.obstacle is None
    assert explanation.missing == ()
    assert str(explanation) == (
        "The best plan for 'armed' is 'earn' (cost 1), then 'buy gun' (cost 1.5): cost 2.5, net value 1.5."
    )


def test_goal_reached_already() -> None:
    assert str(explain([BUY], hasGun=True)) == "'armed' is reached already: net value 4."


def test_condition_that_no_action_provides() -> None:
    explanation = explain([BUY])

    assert explanation.plan is None
    assert explanation.missing == ("hasMoney",)
    assert explanation.nearest is BUY
    assert explanation.blocked_by == ("hasMoney",)
    assert explanation.obstacle == "no provider"
    assert str(explanation) == (
        "No plan reaches 'armed': 'hasMoney' is missing and no action provides it; "
        "the nearest action is 'buy gun', which needs 'hasMoney'."
    )


def test_goal_condition_that_no_action_provides() -> None:
    explanation = explain([], Goal("safe", {"alone": True, "seen": False}))

    assert explanation.missing == ("alone", "not seen")
    assert explanation.nearest is None
    assert str(explanation) == "No plan reaches 'safe': 'alone' and 'not seen' are missing and no action provides them."


def test_root_of_a_chain_is_what_is_missing() -> None:
    chain = [
        Action("shoot", {"hasGun": True}, {"won": True}),
        BUY,
        Action("borrow", {"hasFriend": True, "hasPhone": True}, {"hasMoney": True}),
        Action("work", {"tired": False}, {"hasMoney": True}),
    ]

    explanation = explain(chain, Goal("win", {"won": True}), tired=True)

    assert explanation.missing == ("hasFriend", "hasPhone", "not tired")
    assert explanation.nearest is chain[3]
    assert explanation.blocked_by == ("not tired",)


def test_providers_that_wait_for_each_other() -> None:
    actions = [Action("hatch", {"egg": True}, {"hen": True}), Action("lay", {"hen": True}, {"egg": True})]

    explanation = explain(actions, Goal("farm", {"hen": True}))

    assert explanation.obstacle == "blocked providers"
    assert explanation.missing == ("hen",)
    assert str(explanation) == (
        "No plan reaches 'farm': 'hen' is missing and the actions that provide it cannot run; "
        "the nearest action is 'hatch', which needs 'egg'."
    )


def test_conditions_that_cannot_hold_together() -> None:
    explanation = explain([BUY], Goal("both", {"hasGun": True, "hasMoney": True}), hasMoney=True)

    assert explanation.obstacle == "conflict"
    assert explanation.missing == ()
    assert explanation.nearest is None
    assert str(explanation) == (
        "No plan reaches 'both': each condition on the way to 'hasGun' and 'hasMoney' can be reached, "
        "but not all together, as actions undo them."
    )
