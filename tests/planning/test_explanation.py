from __future__ import annotations

import pytest

from tactician.planning import Action, AStarPlanner, Goal, UtilityPlanner, Verdict, WorldState
from tactician.planning.explanation import Explanation
from tactician.planning.hybrid import HybridPlanner
from tactician.planning.model import NIRVANA
from tactician.planning.planner import PlanningAlgorithm

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


def test_what_only_other_providers_lack_is_not_missing() -> None:
    bill = Action("bill", {"Billing": True}, {"ran bill": True, "Success": True})
    sell = Action("sell", {"Sales": True}, {"ran sell": True, "Success": True})

    explanation = explain([bill, sell], Goal("bill", {"ran bill": True, "Success": True}))

    assert explanation.missing == ("Billing",)
    assert explanation.nearest is bill


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


EARN = Action("earn", {}, {"hasMoney": True}, cost=1)
WORLD = WorldState({"hasMoney": False, "hasGun": False})


def about(
    action: Action, actions: list[Action], goal: Goal = ARMED, planner: PlanningAlgorithm | None = None
) -> Verdict:
    explanation = (planner or AStarPlanner()).explain(WORLD, actions, goal, about=action)
    assert explanation.about is not None
    assert str(explanation).endswith(f" {explanation.about}")
    return explanation.about


class TestWhyNotAnotherAction:
    def test_it_is_in_the_plan(self) -> None:
        assert str(about(EARN, [BUY, EARN])) == "'earn' is in the plan."

    def test_it_cannot_run(self) -> None:
        steal = Action("steal", {"dark": True, "hasMoney": False}, {"hasGun": True})

        verdict = about(steal, [BUY, EARN, steal])

        assert verdict == Verdict(steal, "cannot run", ("dark",))
        assert str(verdict) == "'steal' cannot run, as it needs 'dark'."

    def test_it_is_not_needed(self) -> None:
        nap = Action("nap", {}, {"rested": True})

        assert about(nap, [BUY, EARN, nap]) == Verdict(nap, "not needed")
        assert str(about(nap, [BUY, EARN, nap])) == "'nap' is not needed: a plan that runs it works without it."

    def test_it_is_dearer(self) -> None:
        borrow = Action("borrow", {}, {"hasMoney": True}, cost=lambda _: 1.75)

        verdict = about(borrow, [BUY, EARN, borrow])

        assert verdict == Verdict(borrow, "dearer", difference=0.75)
        assert str(verdict) == "'borrow' is dearer: the best plan that runs it costs 0.75 more."

    def test_it_would_do_as_well(self) -> None:
        win = Action("win", {}, {"hasMoney": True}, cost=1)

        assert about(win, [BUY, EARN, win]).reason == "not preferred"
        assert about(EARN, [BUY, win, EARN]).reason == "not preferred"
        assert str(about(win, [BUY, EARN, win])) == (
            "'win' would do as well, but fewer steps, more specific actions and those declared first are preferred."
        )

    def test_no_plan_that_runs_it_reaches_the_goal(self) -> None:
        give_up = Action("give up", {}, {"hasMoney": True, "willing": False})
        buy = Action("buy gun", {"hasMoney": True, "willing": True}, {"hasGun": True})
        explanation = AStarPlanner().explain(WORLD.with_(willing=True), [buy, EARN, give_up], ARMED, about=give_up)

        assert str(explanation.plan) == "earn -> buy gun"
        assert explanation.about == Verdict(give_up, "not needed")

        stubborn = Goal("armed", {"hasGun": True, "willing": True})
        explanation = AStarPlanner().explain(WORLD.with_(willing=True), [buy, EARN, give_up], stubborn, about=give_up)

        assert str(explanation.about) == "'give up' does not help: no plan that runs it reaches the goal."

    def test_there_is_no_plan_at_all(self) -> None:
        assert about(EARN, [EARN]).reason == "does not help"

    def test_it_is_not_among_the_actions(self) -> None:
        assert str(about(EARN, [BUY])) == "'earn' is not among the actions."

    def test_its_cost_function_is_called_once(self) -> None:
        calls: list[WorldState] = []

        def cost(world: WorldState) -> float:
            calls.append(world)
            return 2.0

        borrow = Action("borrow", {}, {"hasMoney": True}, cost)

        about(borrow, [BUY, EARN, borrow])

        assert calls == [WORLD]


class TestWhyNotAnotherGoal:
    def test_the_others_come_with_their_net_values(self) -> None:
        others = [
            Goal("rich", {"hasMoney": True}, value=1.5),
            Goal("loved", {"loved": True}, value=99),
            ARMED,
            Goal("at peace", {"hasGun": False}, value=0.75),
        ]

        explanation = AStarPlanner().explain(WORLD, [BUY, EARN], ARMED, others=others)

        assert [plan.goal.name for plan in explanation.rivals] == ["at peace", "rich"]
        assert str(explanation).endswith(
            "net value 1.5. Other goals: 'at peace' (net value 0.75), 'rich' (net value 0.5)."
        )

    def test_they_come_when_there_is_no_plan_too(self) -> None:
        explanation = AStarPlanner().explain(WORLD, [EARN], ARMED, others=[Goal("rich", {"hasMoney": True})])

        assert explanation.missing == ("hasGun",)
        assert str(explanation).endswith(" Other goals: 'rich' (net value -1).")


class TestUtility:
    SING = Action("sing", {"hasMoney": False}, {"heard": True}, cost=1, value=2)
    DANCE = Action("dance", {"hasMoney": False}, {"seen": True}, cost=1, value=1.25)
    SPEND = Action("spend", {"hasMoney": True, "awake": True}, {"seen": True})

    @pytest.mark.parametrize("planner", [UtilityPlanner(), HybridPlanner()])
    def test_best_action_and_why_not_another(self, planner: PlanningAlgorithm) -> None:
        actions = [self.SING, self.DANCE, self.SPEND]

        explanation = planner.explain(WORLD, actions, NIRVANA, about=self.DANCE)

        assert str(explanation) == (
            "The best action now is 'sing': cost 1, net value 1. 'dance' is worth less: its net value is lower by 0.75."
        )
        assert about(self.SPEND, actions, NIRVANA, planner) == Verdict(self.SPEND, "cannot run", ("hasMoney", "awake"))
        assert about(self.SING, actions, NIRVANA, planner).reason == "in the plan"

    @pytest.mark.parametrize("planner", [UtilityPlanner(), HybridPlanner()])
    def test_nothing_can_run(self, planner: PlanningAlgorithm) -> None:
        assert str(planner.explain(WORLD, [self.SPEND, BUY], NIRVANA)) == (
            "No action can run now; the nearest action is 'buy gun', which needs 'hasMoney'."
        )
        assert str(planner.explain(WORLD, [], NIRVANA)) == "No action can run now."

    def test_no_single_action_reaches_the_goal(self) -> None:
        explanation = UtilityPlanner().explain(WORLD, [self.SPEND, BUY, EARN], ARMED, about=EARN)

        assert explanation.obstacle == "no single action"
        assert str(explanation) == (
            "No action that can run reaches 'armed' now; the nearest action is 'buy gun', which needs 'hasMoney'. "
            "'earn' is not enough: alone it does not reach the goal."
        )

    def test_a_reached_goal_needs_no_action(self) -> None:
        peace = Goal("peace", {"hasGun": False})

        assert about(EARN, [EARN], peace, UtilityPlanner()).reason == "not needed"

    def test_equal_actions_are_a_matter_of_preference(self) -> None:
        other = Action("hum", {"hasMoney": False}, {"heard": True}, cost=1, value=2)
        heard = Goal("heard", {"heard": True})

        assert about(other, [self.SING, other], heard, UtilityPlanner()).reason == "not preferred"
        assert about(self.DANCE, [self.SING, self.DANCE], heard, UtilityPlanner()).reason == "not enough"

    def test_hybrid_explains_goals_like_the_search(self) -> None:
        borrow = Action("borrow", {}, {"hasMoney": True}, cost=2)

        assert about(borrow, [BUY, EARN, borrow], ARMED, HybridPlanner()) == Verdict(borrow, "dearer", difference=1)
        assert HybridPlanner().explain(WORLD, [BUY], ARMED).missing == ("hasMoney",)
