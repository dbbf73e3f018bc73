"""`evaluate_plans`: which plan is chosen, without running it and without a model."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from pydantic_evals import Case, Dataset
from pydantic_evals.evaluators import EqualsExpected

from tactician import Agent, Ai, UserInput, achieves_goal, action, condition, planned_agent
from tactician.agents import PlannedAgent
from tactician.errors import ConfigurationError
from tactician.evals import PlanCost, PlanOrder, PlanUses, RulesHeld, evaluate_plans
from tactician.planning import rules
from tactician.process import Blackboard


@dataclass
class Order:
    amount: int


@dataclass
class Approval:
    by: str


@dataclass
class Payment:
    amount: int


@planned_agent(description="Pays orders")
class Payer:
    @condition
    def large(self, order: Order) -> bool:
        return order.amount > 100

    @action(cost=0.5, pre=["large"])
    def ask_manager(self, order: Order) -> Approval:
        raise AssertionError("nothing runs")

    @action(cost=0.1, pre=["not large"])
    def wave_through(self, order: Order) -> Approval:
        raise AssertionError("nothing runs")

    @achieves_goal("Paid")
    @action(cost=0.2)
    def pay(self, order: Order, approval: Approval) -> Payment:
        raise AssertionError("nothing runs")


def orders(amounts: list[int]) -> Dataset[Order, list[str], object]:
    cases = [
        Case(
            name=str(amount),
            inputs=Order(amount),
            expected_output=["ask_manager" if amount > 100 else "wave_through", "pay"],
        )
        for amount in amounts
    ]
    return Dataset(name="orders", cases=cases, evaluators=[EqualsExpected(), PlanOrder("pay"), PlanCost(0.5)])


async def test_the_chosen_plan_is_scored(tmp_path: Path) -> None:
    report = await evaluate_plans(orders([10, 200]), Payer())
    assert report.is_complete
    assert report.list_scores("EqualsExpected") == {"10": [1.0], "200": [1.0]}
    assert report.list_scores("PlanCost") == {"10": [1.0], "200": [0.0]}
    assert report.cases[1].output == ["ask_manager", "pay"]
    assert report.cases[1].metrics["plan_cost"] == pytest.approx(0.7)
    report.to_json(tmp_path / "plans.json")
    assert not (await evaluate_plans(orders([10, 200]), Payer(), baseline=tmp_path / "plans.json")).is_worse


async def test_no_plan_is_an_output_too_and_rules_are_judged() -> None:
    cases: list[Case[Any, Any, Any]] = [
        Case(name="nothing", inputs="hello", expected_output=None),
        Case(name="large", inputs=Order(500)),
    ]
    before = RulesHeld(rules.before("ask_manager", "pay"))
    report = await evaluate_plans(Dataset(name="few", cases=cases, evaluators=[PlanUses("pay"), before]), Payer())
    assert [case.output for case in report.cases] == [None, ["ask_manager", "pay"]]
    assert report.list_scores("PlanUses") == {"nothing": [0.0], "large": [1.0]}


async def test_conditions_in_the_place_of_objects() -> None:
    @planned_agent(description="Plans by conditions")
    class Shipper:
        @condition
        def paid(self) -> bool:
            raise AssertionError("it is given")

        @achieves_goal("Shipped")
        @action(pre=["paid"])
        def ship(self, asked: UserInput) -> Payment:
            raise AssertionError("nothing runs")

    start = next(name for name in list_conditions(Shipper()) if "UserInput" in name)
    cases = [
        Case(name="paid", inputs={"paid": True, start: True}),
        Case(name="unpaid", inputs={"paid": False, start: True}),
        Case(name="typo", inputs={"piad": True}),
    ]
    report = await evaluate_plans(Dataset(name="c", cases=cases), Shipper())
    assert [case.output for case in report.cases] == [["ship"], None]
    assert "Did you mean 'paid'?" in report.failures[0].error_message


def list_conditions(agent: object) -> list[str]:
    return list(PlannedAgent(agent).spec.look(Blackboard()))


async def test_a_plan_that_depends_on_a_model_says_so() -> None:
    @planned_agent(description="Asks a model")
    class Asker:
        @condition
        async def polite(self, asked: UserInput, ai: Ai) -> bool:
            return await ai.evaluate_condition("it is polite", asked.content)

        @achieves_goal("Answered")
        @action(pre=["polite"])
        def answer(self, asked: UserInput) -> Payment:
            raise AssertionError("nothing runs")

    report = await evaluate_plans(Dataset(name="m", cases=[Case(name="a", inputs="hi")]), Asker())
    assert "evaluate_plans calls no model" in report.failures[0].error_message
    with pytest.raises(ConfigurationError, match="takes planned agents"):
        await evaluate_plans(Dataset(name="m", cases=[Case(name="a", inputs="hi")]), Agent("Plain"))


async def test_a_thousand_plans_are_scored() -> None:
    report = await evaluate_plans(orders(list(range(1_000))), Payer())
    assert len(report.cases) == 1_000
    assert sum(case.assertions["EqualsExpected"].value for case in report.cases) == 1_000
