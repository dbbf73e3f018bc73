"""The reason of a process that is stuck or failed names the real cause."""

from __future__ import annotations

import inspect
import re
from dataclasses import dataclass
from pathlib import Path

import pytest

from tactician import Planner, ProcessStatus, achieves_goal, action, condition, planned_agent
from tactician.errors import Rejected, Replan
from tests.agents.running import started


@dataclass(frozen=True)
class Order:
    total: int


@dataclass(frozen=True)
class Paid:
    total: int


@dataclass(frozen=True)
class Sent:
    total: int


@planned_agent(description="pays large and small orders")
class Payments:
    @action(pre=["expr: order.total > 100"])
    def pay_large(self, order: Order) -> Paid:
        raise Rejected(f"Pay {order.total}?", "too much")

    @action(pre=["expr: order.total <= 100"])
    def pay_small(self, order: Order) -> Paid:
        return Paid(order.total)

    @achieves_goal("sent")
    @action
    def send(self, paid: Paid) -> Sent:
        return Sent(paid.total)


async def test_the_action_that_was_rejected_is_named_beside_the_one_that_cannot_run() -> None:
    assert (await started(Payments(), Order(200))).failure == (
        "No plan reaches 'send': 'Paid' is missing, as 'pay_large' ran and gave nothing: 'Pay 200?' was rejected (too "
        "much); 'expr: order.total <= 100' is false and no action makes it true. On the blackboard: Order, Rejection."
    )


async def test_an_action_that_asked_to_plan_again_is_the_cause() -> None:
    @planned_agent(description="cannot pay now")
    class Busy(Payments):
        @action
        def pay_large(self, order: Order) -> Paid:
            raise Replan("the bank is closed")

    failure = (await started(Busy(), Order(200))).failure or ""
    assert "'Paid' is missing, as 'pay_large' asked to plan again (the bank is closed)" in failure


@planned_agent(description="sends what is paid")
class Shop:
    @condition
    def paid(self, order: Order) -> bool:
        return False

    @achieves_goal("sent")
    @action(pre=["paid"])
    def send(self, order: Order) -> Sent:
        return Sent(order.total)


async def test_a_condition_is_false_and_not_missing() -> None:
    assert (await started(Shop(), Order(1))).failure == (
        "No plan reaches 'send': 'paid' is false and no action makes it true; the nearest action is 'send', which "
        "needs 'paid'. On the blackboard: Order."
    )


async def test_a_condition_that_an_action_did_not_make_true_is_false() -> None:
    @planned_agent(description="pays in vain")
    class Vain(Shop):
        @action(post=["paid"])
        def pay(self, order: Order) -> None: ...

    failure = (await started(Vain(), Order(1))).failure or ""
    assert "'paid' is false, as 'pay' has run already" in failure


@pytest.mark.parametrize("planner", [Planner.UTILITY, Planner.HYBRID])
async def test_an_agent_without_a_goal_says_which_condition_is_false(planner: Planner) -> None:
    @planned_agent(description="sends what is paid", planner=planner)
    class Reacting:
        @condition
        def paid(self, order: Order) -> bool:
            return False

        @action(pre=["paid"])
        def send(self, order: Order) -> Sent:
            return Sent(order.total)

    failure = (await started(Reacting(), Order(1))).failure or ""
    assert failure.startswith("No action can run now; the nearest action is 'send', which needs 'paid' (false).")


async def test_what_ends_a_trigger_is_named() -> None:
    @planned_agent(description="pays before it sends what is newest")
    class Late:
        @action
        def pay(self, order: Order) -> Paid:
            return Paid(order.total)

        @achieves_goal("sent")
        @action(trigger=Order)
        def send(self, order: Order, paid: Paid) -> Sent:
            return Sent(order.total)

    assert (await started(Late(), Order(1))).failure == (
        "No plan reaches 'send': 'send' runs only while 'Order is newest' holds, and 'pay', which has to run before "
        "it, ends that. On the blackboard: Order."
    )


@planned_agent(description="fails in a function")
class Failing:
    @achieves_goal("sent")
    @action
    def send(self, order: Order) -> Sent:
        return Sent(read_total("no number"))


def read_total(text: str) -> int:
    return int(text)


async def test_a_failed_action_says_file_and_line() -> None:
    process = await started(Failing(), Order(1))

    assert process.status is ProcessStatus.FAILED
    found = re.search(r"^send raised ValueError: .* \((\S+):(\d+)\)$", process.failure or "")
    assert found is not None, process.failure
    assert Path(found[1]).name == Path(__file__).name
    lines, first = inspect.getsourcelines(read_total)
    assert int(found[2]) == first + len(lines) - 1
