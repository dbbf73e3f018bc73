"""Costs and values that are found out when a plan is made."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

import pytest

from tactician import (
    Blackboard,
    OperationContext,
    PlannedAgent,
    ProcessStatus,
    achieves_goal,
    action,
    cost,
    planned_agent,
)
from tactician.planning import WorldState
from tests.agents.running import started, steps
from tests.support.failures import without_lines


@dataclass(frozen=True)
class Raw:
    size: int


@dataclass(frozen=True)
class Large:
    size: int


@dataclass(frozen=True)
class Processed:
    way: str


@planned_agent(description="Processor with a dynamic cost")
class Processor:
    @cost(name="processing cost")
    def how_dear(self, large: Large | None) -> float:
        return 0.9 if large is not None and large.size > 1000 else 0.1

    @action(cost_method="processing cost")
    def process(self, raw: Raw) -> Processed:
        return Processed("whole")

    @action(cost=0.5)
    def sample(self, raw: Raw) -> Processed:
        return Processed("sampled")

    @achieves_goal("processed")
    @action
    def finish(self, processed: Processed) -> str:
        return processed.way


@pytest.mark.parametrize(
    ("objects", "way"),
    [((Raw(1),), "whole"), ((Raw(1), Large(10)), "whole"), ((Raw(1), Large(2000)), "sampled")],
)
async def test_a_cost_depends_on_what_is_there(objects: tuple[object, ...], way: str) -> None:
    assert (await started(Processor(), *objects)).result == way


async def test_a_cost_is_seen_in_the_plan() -> None:
    plan = await PlannedAgent(Processor()).create_process(Raw(1)).outlook()
    assert plan is not None
    assert plan.costs == (0.1, 0.0)


async def test_without_a_process_the_fixed_cost_holds() -> None:
    @planned_agent(description="has both")
    class Both(Processor):
        @action(cost=0.3, cost_method="processing cost")
        def process(self, raw: Raw) -> Processed:
            return Processed("whole")

    spec = PlannedAgent(Both()).spec
    assert spec.action("process").plan.cost_in(WorldState()) == 0.3


async def test_a_cost_may_take_time_and_look_at_the_whole_blackboard() -> None:
    @planned_agent(description="asks slowly")
    class Slow(Processor):
        @cost(name="processing cost")
        async def how_dear(self, blackboard: Blackboard, context: OperationContext) -> float:  # type: ignore[override]  # on purpose
            assert context.blackboard is blackboard
            return 100 if len(blackboard) > 2 else 0

        @action(cost=10)
        def sample(self, raw: Raw) -> Processed:
            return Processed("sampled")

    assert (await started(Slow(), Raw(1))).result == "whole"
    assert (await started(Slow(), Raw(1), Raw(2), Raw(3))).result == "sampled"


async def test_a_cost_is_found_out_once_for_each_plan_and_only_when_it_is_used() -> None:
    asked: Counter[str] = Counter()

    @planned_agent(description="counts")
    class Counting(Processor):
        @cost(name="processing cost")
        def how_dear(self) -> float:  # type: ignore[override]  # on purpose
            asked["used"] += 1
            return 0.1

        @cost
        def unused(self) -> float:
            raise AssertionError("nobody asks")

        @action(cost_method="processing cost")
        def also(self, raw: Raw) -> Large:
            return Large(1)

    process = await started(Counting(), Raw(1))
    assert steps(process) == ["process", "finish"]
    assert asked["used"] == 3


async def test_a_value_decides_between_goals() -> None:
    @planned_agent(description="does what is urgent")
    class Desk:
        @cost
        def urgency(self, large: Large | None) -> float:
            return 0.5 if large is None else large.size / 10

        @achieves_goal("done first")
        @action(value_method="urgency")
        def first(self, raw: Raw) -> str:
            return "first"

        @achieves_goal("done second")
        @action(value=0.6)
        def second(self, raw: Raw) -> str:
            return "second"

    assert (await started(Desk(), Raw(1))).result == "second"
    assert (await started(Desk(), Raw(1), Large(9))).result == "first"


@pytest.mark.parametrize("price", [-0.1, float("nan"), float("inf"), "dear", None])
async def test_what_is_no_cost_fails_the_process_with_the_name_of_the_method(price: object) -> None:
    @planned_agent(description="is wrong")
    class Wrong(Processor):
        @cost(name="processing cost")
        def how_dear(self) -> object:  # type: ignore[override]  # on purpose
            return price

    process = await started(Wrong(), Raw(1))
    assert process.status is ProcessStatus.FAILED
    assert process.failure == (
        f"planning failed: ValueError: the cost 'processing cost' gave {price!r}; it must be a number from 0 up"
    )


async def test_a_cost_that_raises_is_named() -> None:
    @planned_agent(description="is broken")
    class Broken(Processor):
        @cost(name="processing cost")
        def how_dear(self) -> float:  # type: ignore[override]  # on purpose
            raise ZeroDivisionError("no price list")

    process = await started(Broken(), Raw(1))
    assert without_lines(process.failure) == (
        "planning failed: ZeroDivisionError: no price list (in the cost 'processing cost')"
    )
