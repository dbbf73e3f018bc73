"""Planning that asks back: what it asks for, and that it chooses as if everything had been told."""

from __future__ import annotations

from itertools import product

import pytest
from hypothesis import given

from tactician.planning import UNKNOWN, Action, AStarPlanner, Goal, Plan, UtilityPlanner, WorldState
from tactician.planning.consultation import Consultation
from tactician.planning.hybrid import HybridPlanner
from tactician.planning.model import NIRVANA
from tactician.planning.planner import PlanningAlgorithm
from tactician.planning.world import ConditionValue, Unknown
from tests.planning.random_problems import Choice, Truth, secrets, told
from tests.support.effort import examples

PLANNERS: list[PlanningAlgorithm] = [AStarPlanner(), UtilityPlanner(), HybridPlanner()]


def each_planner() -> pytest.MarkDecorator:
    return pytest.mark.parametrize("planner", PLANNERS, ids=lambda planner: type(planner).__name__)


def answered(consultation: Consultation, truth: Truth) -> list[str]:
    """Answer every question truly, and give the questions."""
    asked = []
    while (name := consultation.advance()) is not None:
        assert consultation.plan is None
        asked.append(name)
        consultation.answer(truth[name])
    return asked


def outcome(planner: PlanningAlgorithm, plan: Plan | None) -> tuple[str, str, float] | None:
    """What was chosen; of cheapest plans only the number of steps, as equally good ones may differ."""
    if plan is None:
        return None
    exact = isinstance(planner, UtilityPlanner) or plan.goal == NIRVANA
    return plan.goal.name, str(plan) if exact else str(len(plan.actions)), round(plan.cost, 6)


def determinate(planner: PlanningAlgorithm, choice: Choice) -> Choice:
    """Without values by which plans that cost the same would differ."""
    world, actions, goals = choice
    if isinstance(planner, UtilityPlanner):
        return choice
    if isinstance(planner, HybridPlanner):
        return world, actions, goals[:1]
    return world, [Action(a.name, a.pre, a.effects, a.cost) for a in actions], goals


def wanted_one_way(choice: Choice) -> Choice:
    """Nothing unknown is wanted false, so there is a best answer to every question."""
    world, actions, goals = choice

    def one_way(wanted: dict[str, bool]) -> dict[str, bool]:
        return {name: value or name not in world for name, value in wanted.items()}

    return (
        world,
        [Action(a.name, one_way(dict(a.pre)), a.effects, a.cost) for a in actions],
        [Goal(g.name, one_way(dict(g.conditions)), g.value) for g in goals],
    )


@each_planner()
@examples(300)
@given(secrets())
def test_choice_is_that_of_a_world_in_which_everything_is_known(
    planner: PlanningAlgorithm, secret: tuple[Choice, Truth]
) -> None:
    (world, actions, goals), truth = determinate(planner, secret[0]), secret[1]

    consultation = planner.consult(world, actions, goals)
    asked = answered(consultation, truth)

    assert len(asked) == len(set(asked))
    assert consultation.world == told(world, {name: truth[name] for name in asked})
    assert outcome(planner, consultation.plan) == outcome(planner, planner.best(told(world, truth), actions, goals))


@each_planner()
@examples(300)
@given(secrets())
def test_no_question_is_asked_once_the_answers_cannot_matter(
    planner: PlanningAlgorithm, secret: tuple[Choice, Truth]
) -> None:
    (world, actions, goals), truth = wanted_one_way(secret[0]), secret[1]

    consultation = planner.consult(world, actions, goals)
    while (name := consultation.advance()) is not None:
        open_names = [other for other in truth if other not in consultation.world]
        completions: product[tuple[bool | Unknown, ...]] = product((True, UNKNOWN), repeat=len(open_names))
        worlds = [consultation.world.with_(dict(zip(open_names, values, strict=True))) for values in completions]
        assert len({outcome(planner, planner.best(each, actions, goals)) for each in worlds}) > 1, (
            f"{name} was asked in vain"
        )
        consultation.answer(truth[name])


APPROVED = Action("ship", {"approved": True}, {"done": True}, cost=1)
URGENT = Action("rush", {"urgent": True}, {"done": True}, cost=2)
WAIT = Action("wait", {}, {"done": True}, cost=9)
DONE = Goal("done", {"done": True}, value=10)
NOT_DONE = WorldState({"done": False})


async def test_conditions_that_take_time() -> None:
    truth = {"approved": False, "urgent": True}
    asked = []

    async def evaluate(name: str) -> bool:
        asked.append(name)
        return truth[name]

    consultation = AStarPlanner().consult(NOT_DONE, [WAIT, URGENT, APPROVED], [DONE])
    while (question := consultation.advance()) is not None:
        consultation.answer(await evaluate(question))

    assert str(consultation.plan) == "rush"
    assert asked == ["approved", "urgent"]
    assert consultation.world == WorldState({"done": False, **truth})


def test_what_is_known_already_is_not_asked() -> None:
    consultation = AStarPlanner().consult(NOT_DONE.with_(approved=True), [WAIT, URGENT, APPROVED], [DONE])

    assert consultation.advance() is None
    assert str(consultation.plan) == "ship"
    with pytest.raises(RuntimeError, match="no question"):
        consultation.answer(True)


@pytest.mark.parametrize("answer", [None, UNKNOWN])
def test_what_cannot_be_known_satisfies_nothing(answer: ConditionValue | None) -> None:
    consultation = AStarPlanner().consult(NOT_DONE, [APPROVED], [DONE])

    assert consultation.advance() == "approved"
    consultation.answer(answer)

    assert consultation.advance() is None
    assert consultation.is_done
    assert consultation.plan is None
    assert consultation.world == NOT_DONE.with_(approved=UNKNOWN)


def test_goals_that_promise_less_are_not_asked_about() -> None:
    goals = [Goal(f"goal {n}", {f"made {n}": True}, value=n) for n in range(1000)]
    actions = [Action(f"make {n}", {f"allowed {n}": True}, {f"made {n}": True}, cost=0.5) for n in range(1000)]
    world = WorldState({f"made {n}": False for n in range(1000)})

    consultation = AStarPlanner().consult(world, actions, goals)
    for answer, question in ((False, "allowed 999"), (True, "allowed 998")):
        assert consultation.advance() == question
        consultation.answer(answer)

    assert consultation.advance() is None
    assert str(consultation.plan) == "make 998"


def test_cost_and_value_functions_are_called_once_in_the_whole_consultation() -> None:
    seen: list[WorldState] = []

    def amount(world: WorldState) -> float:
        seen.append(world)
        return 1.0

    both = Action("both", {"a": True, "b": True}, {"done": True}, cost=amount, value=amount)
    goals = [Goal("done", {"done": True}, value=amount), Goal("same", {"done": True})]

    consultation = AStarPlanner().consult(NOT_DONE, [both, WAIT], goals)
    answered(consultation, {"a": True, "b": True})

    assert str(consultation.plan) == "both"
    assert seen == [NOT_DONE] * 3
