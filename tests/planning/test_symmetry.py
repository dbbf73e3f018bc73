"""Interchangeable objects: what is left out of a search does not change what it finds."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from itertools import permutations, product
from random import Random
from typing import NamedTuple, TypeVar

import pytest

from tactician.planning import Action, AStarPlanner, Goal, PlanningBudget, WorldState
from tactician.planning.index import ActionIndex
from tactician.planning.masks import Masks
from tactician.planning.search import STEP_BITS, Search
from tactician.planning.symmetry import Symmetries, find_symmetries
from tests.planning.random_problems import brute_force, tenths
from tests.support.effort import EFFORT

T = TypeVar("T")


class Planted(NamedTuple):
    """A random problem in which objects are interchangeable, unless there are actions for one of them only."""

    world: WorldState
    actions: list[Action]
    goal: Goal


class Template(NamedTuple):
    """An action of any object, or of any two: conditions whose names say whether they are of the first or second."""

    pre: dict[str, bool]
    effects: dict[str, bool]
    cost: float
    is_for_two: bool

    def fill(self, one: int, other: int) -> Action:
        names = {"one": f"object {one}", "other": f"object {other}", "all": "all"}

        def rename(conditions: dict[str, bool]) -> dict[str, bool]:
            return {" ".join((names[kind], rest)): value for (kind, rest), value in split(conditions)}

        name = f"{sorted(self.pre)} {sorted(self.effects.items())} {self.cost} of {one} and {other}"
        return Action(name, rename(self.pre), rename(self.effects), self.cost)


def split(conditions: dict[str, bool]) -> list[tuple[tuple[str, str], bool]]:
    return [((name.split(" ", 1)[0], name.split(" ", 1)[1]), value) for name, value in conditions.items()]


def plant(draw: Random) -> Planted:
    """Draw a problem with two to four objects that have conditions of their own, and conditions that belong to none.

    In a third of them, actions of two objects are for neighbours in a ring. There the objects look all the same, and
    cannot be swapped in many cases.
    """
    is_ring = draw.random() < 0.35
    objects = draw.randint(3 if is_ring else 2, 4)
    own = [f"c{n}" for n in range(draw.randint(1, 3 if objects < 4 else 2))]
    common = [f"all g{n}" for n in range(draw.randint(0, 1 if is_ring else 3))]
    costs = draw.choice([[0.0], [1.0], [0.0, 0.1, 1.0], [0.5, 1.0, 3.0]])
    shared = 0.6 if is_ring else 0.5
    templates = [draw_template(draw, own, common, costs, shared) for _ in range(draw.randint(2, 5))]
    actions = [
        template.fill(one, other)
        for template in templates
        for one, other in permutations(range(objects), 2)
        if (template.is_for_two and not is_ring) or other == (one + 1) % objects
    ]
    if draw.random() < 0.2:  # one object can do more than the others
        actions.append(draw_template(draw, own, common, costs, shared).fill(0, 1))
    wanted = some(draw, [f"one {name}" for name in own] + common, 1, 3)
    goal = {
        name.replace("one", f"object {one}"): value for one, (name, value) in product(range(objects), wanted.items())
    }
    known = [*common, *(f"object {one} {name}" for one, name in product(range(objects), own))]
    world = WorldState({name: draw.random() < 0.3 for name in known})
    return Planted(world, list({action.name: action for action in actions}.values()), Goal("goal", goal))


def draw_template(
    draw: Random, own: Sequence[str], common: Sequence[str], costs: Sequence[float], shared: float
) -> Template:
    is_for_two = draw.random() < shared
    names = [*common, *(f"one {name}" for name in own), *(f"other {name}" for name in own if is_for_two)]
    return Template(some(draw, names, 0, 3), some(draw, names, 1, 3), draw.choice(costs), is_for_two)


def some(draw: Random, names: Sequence[str], least: int, most: int) -> dict[str, bool]:
    most = min(most, len(names))
    return {name: draw.random() < 0.6 for name in draw.sample(names, draw.randint(min(least, most), most))}


class Compiled(NamedTuple):
    """The problem as a search sees it, and its symmetries."""

    masks: Masks
    weights: list[int]
    start: int
    symmetries: Symmetries | None


def compile_problem(planted: Planted) -> Compiled:
    problem = ActionIndex(tuple(planted.actions)).problem(planted.goal)
    start = problem.facts_in(planted.world)
    usable = [number for number, enabler in enumerate(problem.enablers) if not enabler & ~start]
    masks = problem.masks.only(usable)
    weights = [(tenths(problem.actions[number].cost_in(planted.world)) << STEP_BITS) + 1 for number in usable]
    return Compiled(masks, weights, start, finish(find_symmetries(masks, weights)))


def finish(generator: Generator[None, None, T]) -> T:
    while True:
        try:
            next(generator)
        except StopIteration as done:
            result: T = done.value
            return result


def search_through(compiled: Compiled) -> tuple[int, int] | None:
    """Return the cost and the steps of the lightest plan."""
    search = Search(compiled.masks, compiled.weights, compiled.start, symmetries=compiled.symmetries)
    while not search.is_exhausted:
        search.explore_next()
    if search.best is None or search.weight is None:
        return None
    assert compiled.masks.run(compiled.start, search.best)
    return search.weight >> STEP_BITS, search.weight & (1 << STEP_BITS) - 1


@pytest.mark.soak
@pytest.mark.parametrize("part", range(10))
def test_a_search_without_symmetric_states_finds_the_same_as_brute_force(part: int) -> None:
    draw, symmetric, solved = Random(part), 0, 0
    for _ in range(300 * EFFORT):
        planted = plant(draw)
        compiled = compile_problem(planted)
        if compiled.masks.goal & ~compiled.start:
            found = search_through(compiled)
            assert found == brute_force(*planted), planted
            symmetric += compiled.symmetries is not None
            solved += compiled.symmetries is not None and found is not None
    assert symmetric > 60
    assert solved > 20


@pytest.mark.soak
@pytest.mark.parametrize("part", range(5))
def test_the_goal_is_as_far_from_a_state_as_from_its_representative(part: int) -> None:
    draw, changed = Random(part), 0
    for _ in range(300 * EFFORT):
        compiled = compile_problem(plant(draw))
        symmetries, facts = compiled.symmetries, facts_of(compiled.masks)
        if symmetries is None or len(facts) > 10:
            continue
        distances = measure_distances(compiled.masks, compiled.weights, facts)
        for state in distances:
            representative = symmetries.find_representative(state)
            changed += representative != state
            assert distances[representative] == distances[state]
    assert changed > 100


def facts_of(masks: Masks) -> list[int]:
    wanted = masks.goal
    for need in masks.needs:
        wanted |= need
    return [1 << place for place in range(wanted.bit_length()) if wanted >> place & 1]


def measure_distances(masks: Masks, weights: Sequence[int], facts: Sequence[int]) -> dict[int, float]:
    """Return the weight of the way to the goal from each state, by going over all of them until nothing changes."""
    states = [sum(chosen) for chosen in product(*((0, fact) for fact in facts))]
    distances = {state: float("inf") if masks.goal & ~state else 0.0 for state in states}
    is_changing = True
    while is_changing:
        is_changing = False
        for state in states:
            for action, need in enumerate(masks.needs):
                way = weights[action] + distances[masks.after(state, action)]
                if not need & ~state and way < distances[state]:
                    distances[state] = way
                    is_changing = True
    return distances


def gripper(balls: int) -> tuple[WorldState, list[Action], Goal]:
    """Balls that a robot with two hands carries from one room to another."""
    actions = [Action(f"go to {b}", {f"in {a}": True}, {f"in {a}": False, f"in {b}": True}, 1.0) for a, b in ROOMS]
    for ball, hand, (room, _) in product(range(balls), ("left", "right"), ROOMS):
        there, held, free = f"{ball} in {room}", f"{ball} in the {hand} hand", f"{hand} hand is free"
        actions += [
            Action(
                f"pick {ball} in {room} with {hand}",
                {there: True, f"in {room}": True, free: True},
                {there: False, held: True, free: False},
                1.0,
            ),
            Action(
                f"drop {ball} in {room} from {hand}",
                {held: True, f"in {room}": True},
                {there: True, held: False, free: True},
                1.0,
            ),
        ]
    world = {"in a": True, "left hand is free": True, "right hand is free": True}
    return (
        WorldState(world | {f"{ball} in a": True for ball in range(balls)}),
        actions,
        Goal("all in b", {f"{ball} in b": True for ball in range(balls)}),
    )


ROOMS = [("a", "b"), ("b", "a")]


def test_fourteen_interchangeable_objects_are_planned_for_in_a_few_hundred_states() -> None:
    """Without symmetries, 250,000 states do not suffice."""
    plan = AStarPlanner(budget=PlanningBudget(time=None, expansions=1500)).plan(*gripper(14))

    assert plan is not None
    assert plan.optimal
    assert plan.cost == 41


def test_objects_that_the_start_treats_differently_are_interchangeable_too() -> None:
    world, actions, goal = gripper(10)
    moved = world.with_({"0 in a": False, "0 in b": True, "1 in a": False, "1 in b": True})

    plan = AStarPlanner(budget=PlanningBudget(time=None, expansions=1500)).plan(moved, actions, goal)

    assert plan is not None
    assert plan.optimal
    assert plan.cost == 23


def test_a_problem_without_interchangeable_objects_has_no_symmetries() -> None:
    world, actions, goal = gripper(5)
    priced = [Action(one.name, one.pre, one.effects, 1.0 + n / 10) for n, one in enumerate(actions)]

    assert compile_problem(Planted(world, actions, goal)).symmetries is not None
    assert compile_problem(Planted(world, priced, goal)).symmetries is None
