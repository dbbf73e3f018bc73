"""Schedules of least makespan, against an exact scheduler that tries everything."""

from __future__ import annotations

from heapq import heappop, heappush
from itertools import combinations, count
from random import Random

import pytest

from tactician.planning import Action, AStarPlanner, Goal, Objective, RunEstimate, WorldState
from tactician.planning.forecast.fastest import find_fastest
from tactician.planning.forecast.scheduling import PlanScheduler
from tests.support.effort import EFFORT


def find_least_makespan(durations: list[int], before: list[list[int]], places: int) -> int:
    """Return the makespan of the best schedule: Dijkstra over what has ended and what runs, idle places included."""
    numbers, start = count(), (frozenset[int](), tuple[tuple[int, int], ...]())
    queue, least = [(0, 0, start)], {start: 0}
    while True:
        time, _, state = heappop(queue)
        done, running = state
        if len(done) == len(durations):
            return time
        busy = {task for task, _ in running}
        ready = [n for n in range(len(durations)) if n not in done | busy and done.issuperset(before[n])]
        for size in range(min(places - len(running), len(ready)) + 1):
            for begun in combinations(ready, size):
                now = [*running, *((task, durations[task]) for task in begun)]
                if now:
                    step = min(left for _, left in now)
                    ended = done | {task for task, left in now if left == step}
                    after = ended, tuple(sorted((task, left - step) for task, left in now if left > step))
                    if time + step < least.get(after, time + step + 1):
                        least[after] = time + step
                        heappush(queue, (time + step, next(numbers), after))


def draw_graph(seed: int, tasks: int) -> tuple[list[int], list[list[int]], int]:
    draw = Random(seed)
    part = draw.choice([0.1, 0.2, 0.4])
    durations = [draw.randint(1, 9) for _ in range(tasks)]
    return durations, [[a for a in range(b) if draw.random() < part] for b in range(tasks)], draw.randint(1, 8)


def check_schedule(durations: list[int], before: list[list[int]], places: int) -> float:
    """Return the makespan of the schedule that was found, and check that it can be followed."""
    scheduler = PlanScheduler(durations, before, places)
    schedule = scheduler.find()
    ends = [start + duration for start, duration in zip(schedule.starts, durations, strict=True)]
    assert all(ends[a] <= schedule.starts[b] for b, earlier in enumerate(before) for a in earlier)
    assert all(sum(schedule.starts[n] <= at < ends[n] for n in range(len(ends))) <= places for at in schedule.starts)
    _, starts = scheduler.follow(schedule.order, keeps_order=True)
    assert tuple(starts) == schedule.starts
    return schedule.makespan


@pytest.mark.parametrize("seed", range(60 * EFFORT))
def test_schedules_of_few_actions_are_optimal(seed: int) -> None:
    graph = draw_graph(seed, 2 + seed % 6)
    assert check_schedule(*graph) == find_least_makespan(*graph)


@pytest.mark.soak
@pytest.mark.skipif(EFFORT == 1, reason="the exact scheduler takes minutes")
@pytest.mark.parametrize("seed", range(500))
def test_schedules_of_up_to_twelve_actions_are_optimal(seed: int) -> None:
    graph = draw_graph(seed, 2 + seed % 11)
    assert check_schedule(*graph) == find_least_makespan(*graph)


@pytest.mark.parametrize("seed", range(20))
def test_schedules_of_many_actions_are_near_the_bound(seed: int) -> None:
    durations, before, places = draw_graph(seed, 13 + 3 * seed)
    bound = PlanScheduler(durations, before, places).bound
    assert check_schedule(durations, before, places) <= 1.1 * bound


def test_a_place_stays_free_where_that_ends_sooner() -> None:
    """Three long actions follow a short one: two others that could start at once would keep them waiting."""
    scheduler = PlanScheduler([1, 10, 10, 5, 2, 2], [[], [0], [0], [0], [], []], 3)
    schedule = scheduler.find()
    assert schedule.makespan == 11 == find_least_makespan([1, 10, 10, 5, 2, 2], [[], [0], [0], [0], [], []], 3)
    assert scheduler.must_keep_order(schedule)


def test_what_runs_alone_has_no_company() -> None:
    schedule = PlanScheduler([2, 3, 4], [[], [], []], 3, alone=[1]).find()
    assert schedule.makespan == 7


def step(name: str, seconds: float, pre: tuple[str, ...] = (), gives: str = "", cost: float = 0.0) -> Action:
    estimate = RunEstimate(seconds=seconds, runs=5)
    return Action(name, dict.fromkeys(pre, True), {gives or name: True}, cost=cost, estimate=estimate)


def plan_for_time(actions: list[Action], places: int, objective: Objective) -> tuple[list[str], float]:
    priced = [objective.price(action, action.estimate or RunEstimate()) for action in actions]
    world, goal = WorldState({}), Goal("goal", {"goal": True})
    plan = AStarPlanner().plan(world, priced, goal)
    assert plan is not None
    fastest = find_fastest(plan, world, priced, objective, places)
    return [action.name for action in fastest.actions], fastest.expected.makespan


def test_with_several_at_once_the_plan_of_more_work_may_be_the_fastest() -> None:
    actions = [
        step("alone", 5, gives="done"),
        step("left", 3),
        step("right", 3),
        step("join", 1, ("left", "right"), "done"),
        step("finish", 1, ("done",), "goal"),
    ]
    assert plan_for_time(actions, 1, Objective.TIME) == (["alone", "finish"], 6)
    assert plan_for_time(actions, 2, Objective.TIME) == (["left", "right", "join", "finish"], 5)
    assert plan_for_time(actions, 2, Objective(cost=1, seconds=1))[1] == 5
    dear = [*actions[:1], step("left", 3, cost=2.0), *actions[2:]]
    assert plan_for_time(dear, 2, Objective(cost=1, seconds=1)) == (["alone", "finish"], 6)


@pytest.mark.parametrize("seed", range(60 * EFFORT))
def test_the_fastest_of_all_ways_is_found(seed: int) -> None:
    """Each fact can be had in two ways: all sets of actions are scheduled exactly."""
    draw = Random(seed)
    facts = ["f0", "f1", "f2", "goal"]
    actions = []
    for number, fact in enumerate(facts):
        for way in range(2):
            needed = tuple(other for other in facts[:number] if draw.random() < 0.6)
            actions.append(step(f"{fact}-{way}", draw.randint(1, 9), needed, fact, cost=draw.randint(0, 3)))
    objective, places = Objective(cost=draw.choice([0, 1]), seconds=1), draw.randint(2, 3)
    priced = [objective.price(action, action.estimate or RunEstimate()) for action in actions]
    world, goal = WorldState({}), Goal("goal", {"goal": True})
    plan = AStarPlanner().plan(world, priced, goal)
    assert plan is not None
    fastest = find_fastest(plan, world, priced, objective, places)
    chosen = {action.name for action in fastest.actions}
    weight = sum(objective.cost * float(str(a.cost)) for a in actions if a.name in chosen) + fastest.expected.makespan
    assert weight == pytest.approx(least_weight(actions, objective.cost, places))


def least_weight(actions: list[Action], weight: float, places: int) -> float:
    best = float("inf")
    for ways in range(16):
        chosen = {fact: actions[2 * n + (ways >> n & 1)] for n, fact in enumerate(["f0", "f1", "f2", "goal"])}
        used, open_facts = list[str](), ["goal"]
        while open_facts:
            if (fact := open_facts.pop()) not in used:
                used.append(fact)
                open_facts += chosen[fact].pre
        used.sort()
        seconds = [int(chosen[fact].estimate.seconds) for fact in used if chosen[fact].estimate]  # type: ignore[union-attr]
        before = [[used.index(fact) for fact in chosen[each].pre] for each in used]
        cost = sum(weight * float(str(chosen[fact].cost)) for fact in used)
        best = min(best, cost + find_least_makespan(seconds, before, places))
    return best
