from __future__ import annotations

import pytest

from tactician.planning import UNKNOWN, Action, AStarPlanner, Goal, Plan, WorldState

INSIDE = WorldState({"out": False})
OUT = Goal("out", {"out": True})
DOOR = Action("door", {"unlocked": True}, {"out": True}, cost=1)
WINDOW = Action("window", {"ground floor": True}, {"out": True}, cost=2)
CHIMNEY = Action("chimney", {}, {"out": True}, cost=9)


class Oracle:
    """Answers about the world, and remembers what it was asked."""

    def __init__(self, **truth: bool | None) -> None:
        self.truth = {name.replace("_", " "): value for name, value in truth.items()}
        self.asked: list[str] = []

    def __call__(self, name: str) -> bool | None:
        self.asked.append(name)
        return self.truth[name]

    def plan(self, actions: list[Action], goal: Goal = OUT, world: WorldState = INSIDE) -> Plan | None:
        return AStarPlanner(determine=self).plan(world, actions, goal)


def test_unknown_conditions_satisfy_nothing_when_nobody_can_tell() -> None:
    world = WorldState({"unlocked": UNKNOWN})
    planner = AStarPlanner()

    assert planner.plan(world, [DOOR], OUT) is None
    assert planner.plan(world, [Action("wait", {"unlocked": False}, {"out": True})], OUT) is None
    assert str(planner.plan(world, [DOOR, WINDOW, CHIMNEY], OUT)) == "chimney"


@pytest.mark.parametrize(
    ("unlocked", "ground_floor", "expected", "asked"),
    [
        (True, True, "door", ["unlocked"]),
        (False, True, "window", ["unlocked", "ground floor"]),
        (None, True, "window", ["unlocked", "ground floor"]),
        (False, False, "chimney", ["unlocked", "ground floor"]),
        (None, None, "chimney", ["unlocked", "ground floor"]),
    ],
)
def test_asks_only_what_the_best_plan_depends_on(
    unlocked: bool | None, ground_floor: bool | None, expected: str, asked: list[str]
) -> None:
    oracle = Oracle(unlocked=unlocked, ground_floor=ground_floor)

    assert str(oracle.plan([CHIMNEY, WINDOW, DOOR])) == expected
    assert oracle.asked == asked


def test_asks_nothing_when_no_answer_could_change_the_plan() -> None:
    oracle = Oracle()

    assert str(oracle.plan([DOOR, Action("walk", {}, {"out": True}, cost=1)])) == "walk"
    assert (
        str(oracle.plan([DOOR, Action("unlock", {}, {"unlocked": True}), CHIMNEY], Goal("none", {}))) == "nothing to do"
    )
    assert (
        oracle.plan([DOOR], Goal("rich", {"rich": True, "out": True}), WorldState({"rich": False, "out": False}))
        is None
    )
    assert oracle.asked == []


def test_a_missing_condition_of_the_goal_is_asked_too() -> None:
    oracle = Oracle(out=True)

    plan = oracle.plan([CHIMNEY], world=WorldState())

    assert plan is not None
    assert plan.actions == ()
    assert oracle.asked == ["out"]


def test_a_false_condition_can_be_made_true() -> None:
    unlock = Action("unlock", {"unlocked": False}, {"unlocked": True}, cost=1)

    assert str(Oracle(unlocked=False).plan([unlock, DOOR, CHIMNEY])) == "unlock -> door"
    assert str(Oracle(unlocked=True).plan([unlock, DOOR, CHIMNEY])) == "door"
    assert str(Oracle(unlocked=None).plan([unlock, DOOR, CHIMNEY])) == "chimney"


def test_any_number_of_unknown_conditions() -> None:
    names = [f"c{n}" for n in range(30)]
    oracle = Oracle(**dict.fromkeys(names, True))

    plan = oracle.plan([Action("all", dict.fromkeys(names, True), {"out": True}, cost=1), CHIMNEY])

    assert str(plan) == "all"
    assert sorted(oracle.asked) == sorted(names)


def test_stops_asking_once_the_plan_is_out_of_the_question() -> None:
    names = [f"c{n}" for n in range(30)]
    oracle = Oracle(**dict.fromkeys(names, False))

    assert str(oracle.plan([Action("all", dict.fromkeys(names, True), {"out": True}, cost=1), CHIMNEY])) == "chimney"
    assert len(oracle.asked) == 1


def test_goals_planned_together_share_the_answers() -> None:
    oracle = Oracle(unlocked=True)
    goals = [OUT, Goal("also out", {"out": True, "unlocked": True})]

    plans = AStarPlanner(determine=oracle).plans(INSIDE, [DOOR], goals)

    assert [str(plan) for plan in plans] == ["door", "door"]
    assert oracle.asked == ["unlocked"]


def test_an_error_while_determining_reaches_the_caller() -> None:
    def fail(name: str) -> bool:
        raise ConnectionError(name)

    with pytest.raises(ConnectionError, match="unlocked"):
        AStarPlanner(determine=fail).plan(INSIDE, [DOOR], OUT)


def test_explanation_rests_on_the_answers() -> None:
    oracle = Oracle(unlocked=False)

    explanation = AStarPlanner(determine=oracle).explain(INSIDE, [DOOR], OUT)

    assert oracle.asked == ["unlocked"]
    assert explanation.missing == ("unlocked",)
