"""`tactician check`: what can happen under rules, and what if: the plans under assumptions."""

from __future__ import annotations

from pathlib import Path

from tests.cli.support import ROOT, tactician, written

REFUNDS = str(ROOT / "examples" / "refunds.py")
BROKEN = """
from pydantic import BaseModel

from tactician import Agent, Ensemble, Task, achieves_goal, action, planned_agent
from tactician.planning import rules


class Order(BaseModel):
    value: int


class Balance(BaseModel):
    value: int


class Invoice(BaseModel):
    value: int


BOOK = [
    rules.never("archive"),
    rules.always("not balance.value < 0 or not balance"),
]


@planned_agent(description="Books", rules=BOOK)
class Books:
    @action(cost=2)
    async def book(self, order: Order) -> Balance | None:
        return Balance(value=-1)

    @action(cost=1)
    async def archive(self, order: Order) -> None: ...

    @achieves_goal("Invoiced")
    @action(cost=3)
    async def invoice(self, balance: Balance) -> Invoice:
        return Invoice(value=1)


def pay(amount: int) -> str:
    return "paid"


teller = Agent("Teller", model="gpt-5.4", tools=[pay], rules=[rules.at_most(1, "pay"), rules.sometime("pay")])
office = Ensemble("Office", [Task("pay", id="pay", handler=lambda task: "x")], rules=[rules.at_most(1, "pay")])
"""


def test_each_rule_holds_by_enforcement_or_has_a_shortest_counterexample(tmp_path: Path) -> None:
    done = tactician("check", written(tmp_path, BROKEN))

    assert done.code == 1, done.err
    assert "always(not balance.value < 0 or not balance)  broken by: book (balance.value < 0)" in done.out
    assert "never(archive)  held by enforcement  prevents: archive" in done.out
    assert "never run: archive" in done.out
    assert "cost: from 5 to 5" in done.out
    assert "at_most(1, pay)  held by enforcement  prevents: pay → pay" in done.out
    assert "sometime(pay)  held by enforcement" in done.out
    assert done.out.count("at_most(1, pay)") == 2


def test_the_example_of_refunds_is_held(tmp_path: Path) -> None:
    done = tactician("check", REFUNDS)

    assert done.code == 0, done.out + done.err
    assert "before(verify, pay_out)  held by enforcement  prevents: pay_out" in done.out
    assert "broken" not in done.out


def test_a_plan_under_assumptions_and_what_each_step_rests_on() -> None:
    done = tactician("plan", REFUNDS, "--what-if", "verify=fails")
    assert done.code == 0, done.err
    assert "No plan reaches" in done.out

    done = tactician("plan", REFUNDS, "--what-if", "verify=2", "--fallbacks")
    assert "cost 2" in done.out
    assert "verify: nothing would help" in done.out

    done = tactician("plan", REFUNDS, "--what-if", "nope=fails")
    assert "Its actions are " in done.err
    done = tactician("plan", REFUNDS, "--what-if", "verfy=fails")
    assert done.code == 2
    assert "no action 'verfy'. Did you mean 'verify'?" in done.err


def test_plans_keep_rules_and_say_which_rule_kept_an_action_out(tmp_path: Path) -> None:
    done = tactician("plan", "-v", REFUNDS)

    assert done.out.index("1. verify") < done.out.index("2. pay_out")
    assert "is forbidden by the rule never(gift)" in done.out
