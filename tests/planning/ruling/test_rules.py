"""Rules: what they are called, what they refuse to be, and plans that keep them."""

from __future__ import annotations

from datetime import timedelta

import pytest

from tactician.planning import Action, AStarPlanner, Goal, HybridPlanner, UtilityPlanner, WorldState, rules
from tactician.planning.model import NIRVANA

VERIFY = Action("verify", {"asked": True}, {"verified": True}, cost=1)
PAY = Action("pay", {"asked": True}, {"paid": True}, cost=1)
LOG = Action("log", {}, {"logged": True}, cost=1)
ACTIONS = [VERIFY, PAY, LOG]
WORLD = WorldState({"asked": True, "verified": False, "paid": False, "logged": False})
PAID = Goal("paid", {"paid": True})


def names(planner: AStarPlanner, *, history: tuple[str, ...] = ()) -> list[str] | None:
    plan = planner.plan(WORLD, ACTIONS, PAID, history=history)
    return None if plan is None else [action.name for action in plan.actions]


def test_a_plan_does_first_what_a_rule_demands_before() -> None:
    assert names(AStarPlanner()) == ["pay"]
    assert names(AStarPlanner(rules=[rules.before("verify", "pay")])) == ["verify", "pay"]


def test_what_was_done_earlier_counts() -> None:
    assert names(AStarPlanner(rules=[rules.before("verify", "pay")]), history=("verify",)) == ["pay"]
    assert names(AStarPlanner(rules=[rules.at_most(1, "pay")]), history=("pay",)) is None


def test_a_goal_counts_when_what_a_rule_demands_after_it_is_done() -> None:
    assert names(AStarPlanner(rules=[rules.after("pay", "log")])) == ["pay", "log"]


def test_a_forbidden_action_is_left_out_and_the_explanation_names_the_rule() -> None:
    planner = AStarPlanner(rules=[rules.never("pay", when="not verified")])

    assert names(planner) == ["verify", "pay"]
    explanation = AStarPlanner(rules=[rules.never("pay")]).explain(WORLD, ACTIONS, PAID, about=PAY)
    assert str(explanation).endswith("'pay' is forbidden by the rule never(pay).")
    explanation = AStarPlanner(rules=[rules.before("call", "pay")]).explain(WORLD, ACTIONS, PAID)
    assert "rule before(call, pay)" in str(explanation)


def test_a_preference_is_kept_unless_that_costs_more_than_its_penalty() -> None:
    cheap, dear = (AStarPlanner(rules=[rules.prefer(rules.before("verify", "pay"), price)]) for price in (0.3, 3.0))

    plan = cheap.plan(WORLD, ACTIONS, PAID)
    assert plan is not None
    assert ([step.name for step in plan.actions], plan.costs, plan.penalty, plan.cost) == (["pay"], (1,), 0.3, 1.3)
    assert names(dear) == ["verify", "pay"]


@pytest.mark.parametrize("planner", [UtilityPlanner, HybridPlanner])
def test_planners_of_single_steps_keep_rules(planner: type[UtilityPlanner | HybridPlanner]) -> None:
    worth = [Action("pay", value=2.0, cost=1), Action("verify", value=1.5, cost=1)]
    plan = planner(rules=[rules.before("verify", "pay")]).plan(WORLD, worth, NIRVANA)

    assert plan is not None
    assert plan.actions == (worth[1],)


def test_all_planners_of_several_goals_return_the_goals_of_the_caller() -> None:
    planner, other = AStarPlanner(rules=[rules.sometime("log")]), Goal("verified", {"verified": True})

    plans = planner.plans(WORLD, ACTIONS, [PAID, other])

    assert [plan.goal for plan in plans] == [PAID, other]
    assert all("log" in str(plan) for plan in plans)
    assert planner.prune(WORLD, ACTIONS, [PAID]) == (PAY, LOG)
    consultation = planner.consult(WORLD, ACTIONS, [PAID])
    consultation.finish()
    assert consultation.plan is not None
    assert consultation.plan.goal is PAID
    assert consultation.world == WORLD


def test_a_rule_reads_as_it_was_written() -> None:
    assert str(rules.before("verify", "pay")) == "before(verify, pay)"
    assert str(rules.never("pay", when={"paid": True, "open": False})) == "never(pay, when=paid and not open)"
    assert str(rules.within(timedelta(minutes=2), "pay", after="ask")) == "within(120 s, pay, after=ask)"
    assert str(rules.prefer(rules.at_most(2, "a | b"), 0.5)) == "prefer(at_most(2, a | b), penalty=0.5)"
    assert str(rules.any_of(rules.sometime("a"), rules.never("b"))) == "any_of(sometime(a), never(b))"


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: rules.at_most(-1, "a"), "0 or more"),
        (lambda: rules.at_least(0, "a"), "1 or more"),
        (lambda: rules.at_most(True, "a"), "whole number"),
        (lambda: rules.within(timedelta(0), "a"), "positive"),
        (lambda: rules.before("", "a"), "names"),
        (lambda: rules.before("a |", "a"), "names"),
        (lambda: rules.prefer(rules.never("a"), 0), "positive"),
        (lambda: rules.prefer(rules.never("a"), float("inf")), "finite"),
        (lambda: rules.prefer(rules.prefer(rules.never("a"), 1), 1), "a rule and its penalty"),
        (lambda: rules.any_of(rules.never("a")), "two or more"),
        (lambda: rules.any_of(rules.never("a"), rules.prefer(rules.never("b"), 1)), "without penalties"),
    ],
)
def test_a_wrong_rule_is_refused_at_once(build: object, message: str) -> None:
    assert callable(build)
    with pytest.raises((TypeError, ValueError), match=message):
        build()


def test_rules_that_count_too_far_are_refused() -> None:
    planner = AStarPlanner(rules=[rules.at_most(100, "pay"), rules.at_least(100, "pay | log")])

    with pytest.raises(ValueError, match="use fewer rules that count, or smaller numbers"):
        planner.plan(WORLD, ACTIONS, PAID)
