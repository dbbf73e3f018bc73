"""Triggers: an action runs only for what was added last."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from tactician import Blackboard, Planner, ProcessStatus, achieves_goal, action, planned_agent
from tests.agents.running import started, steps


@dataclass(frozen=True)
class EventA:
    pass


@dataclass(frozen=True)
class EventB:
    pass


class SpecialB(EventB):
    pass


@dataclass(frozen=True)
class Text:
    text: str


@dataclass(frozen=True)
class Result:
    text: str


@planned_agent(description="Multi-event processor")
class EventProcessor:
    @achieves_goal("Handle event A")
    @action(trigger=EventA)
    def handle_a(self, a: EventA, b: EventB) -> Result:
        return Result("Triggered by A")

    @achieves_goal("Handle event B")
    @action(trigger=EventB)
    def handle_b(self, a: EventA, b: EventB) -> Result:
        return Result("Triggered by B")


@pytest.mark.parametrize(
    ("events", "text"),
    [
        ((EventB(), EventA()), "Triggered by A"),
        ((EventA(), EventB()), "Triggered by B"),
        ((EventA(), SpecialB()), "Triggered by B"),
        ((EventB(), EventA(), EventB()), "Triggered by B"),
    ],
)
async def test_the_action_for_the_newest_event_runs(events: tuple[object, ...], text: str) -> None:
    assert (await started(EventProcessor(), *events)).result == Result(text)


@pytest.mark.parametrize("events", [(EventA(),), (EventA(), EventB(), "something else")])
async def test_nothing_runs_when_something_else_is_newest_or_missing(events: tuple[object, ...]) -> None:
    process = await started(EventProcessor(), *events)
    assert process.status is ProcessStatus.STUCK
    assert steps(process) == []


async def test_the_planner_knows_what_will_be_newest() -> None:
    @planned_agent(description="makes events")
    class Maker:
        @action
        def make_a(self, text: Text) -> EventA:
            return EventA()

        @action
        def make_b(self, text: Text) -> EventB:
            return EventB()

        @achieves_goal("handled")
        @action(trigger=EventA)
        def handle(self, a: EventA, b: EventB) -> Result:
            return Result("done")

    assert steps(await started(Maker(), Text("go"))) == ["make_b", "make_a", "handle"]


@planned_agent(description="reacts", planner=Planner.UTILITY)
class Chat:
    @action(trigger=EventA, can_rerun=True)
    def respond(self, a: EventA, blackboard: Blackboard) -> None:
        blackboard.add(Result("noted"))


async def test_an_action_that_gives_nothing_is_not_triggered_again() -> None:
    process = await started(Chat(), EventA())
    assert process.status is ProcessStatus.STUCK
    assert steps(process) == ["respond"]


async def test_nothing_where_something_was_declared_is_not_triggered_again() -> None:
    @planned_agent(description="reacts, or not", planner=Planner.UTILITY)
    class Maybe:
        @action(trigger=EventA, can_rerun=True)
        def respond(self, a: EventA) -> Result | None:
            return None

        @action(cost=0.9)
        def rest(self, a: EventA) -> EventB:
            return EventB()

    assert steps(await started(Maybe(), EventA())) == ["respond", "rest"]


async def test_an_event_that_was_hidden_does_not_bring_an_older_one_back() -> None:
    @planned_agent(description="hides what it has seen", planner=Planner.UTILITY)
    class Hiding:
        @action(trigger=EventA, can_rerun=True)
        def respond(self, a: EventA, blackboard: Blackboard) -> None:
            blackboard.hide(a)

    assert steps(await started(Hiding(), EventA(), EventA())) == ["respond"]
