"""Problems with hundreds of states, against an oracle that knows nothing of plans."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import permutations, product
from random import Random

import pytest

from tactician.planning import Action, AStarPlanner, Goal, Plan, PlanningBudget, WorldState

Orders = Sequence[frozenset[int]]


def draw_orders(seed: int, count: int) -> Orders:
    draw = Random(seed)
    return [frozenset(draw.sample(range(count), draw.randint(1, min(3, count)))) for _ in range(count)]


def list_steps(orders: Orders) -> Iterator[Action]:
    """Yield the actions of a workshop: a product is made once, while all orders of it have a stack; stacks are dear."""

    def move(name: str, gives: str, takes: str, *needs: str, cost: float = 0.0) -> Action:
        return Action(name, dict.fromkeys((takes, *needs), True), {gives: True, takes: False}, cost)

    numbers = range(len(orders))
    for n in numbers:
        yield move(f"open {n}", f"{n + 1} stacks", f"{n} stacks", cost=1.0)
    for order, n in product(numbers, range(1, len(orders) + 1)):
        made = [f"made {item}" for item in orders[order]]
        start = {f"started {order}": True, f"{n - 1} stacks": True, f"waiting {order}": False, f"{n} stacks": False}
        yield Action(f"start {order} {n}", {f"waiting {order}": True, f"{n} stacks": True}, start, 0.0)
        ship = {f"shipped {order}": True, f"{n} stacks": True, f"started {order}": False, f"{n - 1} stacks": False}
        needs = dict.fromkeys((f"started {order}", f"{n - 1} stacks", *made), True)
        yield Action(f"ship {order} {n}", needs, ship, 0.0)
    for item in numbers:
        readers = [f"started {order}" for order in numbers if item in orders[order]]
        yield move(f"make {item}", f"made {item}", f"unmade {item}", *readers)


def plan_workshop(orders: Orders, budget: PlanningBudget) -> Plan | None:
    numbers = range(len(orders))
    start = ["0 stacks", *(f"waiting {n}" for n in numbers), *(f"unmade {n}" for n in numbers)]
    goal = Goal("all", {f"shipped {n}": True for n in numbers})
    return AStarPlanner(budget=budget).plan(WorldState(dict.fromkeys(start, True)), list(list_steps(orders)), goal)


def count_stacks(orders: Orders) -> int:
    """Return the least number of stacks, by trying all orders in which the products can be made."""
    return min(max(open_stacks(orders, sequence)) for sequence in permutations(range(len(orders))))


def open_stacks(orders: Orders, sequence: Sequence[int]) -> Iterator[int]:
    for place, item in enumerate(sequence):
        done, begun = set(sequence[:place]), {*sequence[:place], item}
        yield sum(1 for wants in orders if wants & begun and not wants <= done)
    yield 1


@pytest.mark.parametrize("seed", range(12))
def test_stubborn_sets_that_leave_nothing_out_are_given_up_without_harm(seed: int) -> None:
    orders = draw_orders(seed, 6)

    plan = plan_workshop(orders, PlanningBudget(time=None))

    assert plan is not None
    assert plan.optimal
    assert plan.cost == count_stacks(orders)
