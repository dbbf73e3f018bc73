"""Experience: estimates from earlier runs, and exploration."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random

import pytest

from tactician.errors import ConfigurationError
from tactician.planning import Action, AStarPlanner, Goal, Objective, RunEstimate, WorldState
from tactician.planning.forecast.experience import MOST_TRIALS, Experience, RunTrial
from tests.support.effort import EFFORT

MONTH = 30 * 24 * 3600.0


@dataclass(frozen=True)
class Way:
    """A way to the goal whose price and chance of success nobody has told the planner."""

    dollars: float
    deviation: float
    success: float

    @property
    def expected(self) -> float:
        return self.dollars / self.success


WAYS = (Way(0.30, 0.05, 0.95), Way(0.25, 0.05, 0.6), Way(0.6, 0.1, 1.0))
SPOILT = (Way(0.9, 0.1, 0.5), *WAYS[1:])


class Learner:
    """Learner of which of several ways is the cheapest, by the plans that it makes."""

    def __init__(self, seed: int, ways: tuple[Way, ...] = WAYS, *, explores: bool = True) -> None:
        self._seed = seed
        self._ways = ways
        self._explores = explores
        self._chance = Random(f"chance {seed}")
        self._trials: list[list[RunTrial]] = [[] for _ in ways]
        self.picked: list[int] = []
        self.regret = 0.0

    def run(self, ways: tuple[Way, ...], times: int) -> list[int]:
        """Run so many times, and return the ways that were chosen."""
        before = len(self.picked)
        for _ in range(times):
            now = float(len(self.picked))
            number = self._choose(now)
            self._ways = ways
            self.observe(number, succeeded=self._chance.random() < ways[number].success)
            self.picked.append(number)
            self.regret += ways[number].expected - min(each.expected for each in ways)
        return self.picked[before:]

    def observe(self, number: int, *, succeeded: bool) -> None:
        """Note a run of a way, at a price by chance."""
        way = self._ways[number]
        price = max(0.0, self._chance.gauss(way.dollars, way.deviation))
        self._trials[number].append(RunTrial(float(len(self.picked)), 1.0, price, succeeded))

    def _choose(self, now: float) -> int:
        draw = Random(f"{self._seed} {now}")
        experiences = [Experience.of(trials, now) for trials in self._trials]
        estimates = [each.sample(draw) if self._explores else each.estimate for each in experiences]
        actions = [
            Objective.DOLLARS.price(Action(str(number), effects={"done": True}), estimate)
            for number, estimate in enumerate(estimates)
        ]
        plan = AStarPlanner().plan(WorldState({"done": False}), actions, Goal("goal", {"done": True}))
        assert plan is not None
        return int(plan.actions[0].name)


def test_the_cheapest_of_three_ways_is_chosen_after_fifty_runs() -> None:
    seeds = 40 * EFFORT
    chosen = [Learner(seed).run(WAYS, 50)[-1] for seed in range(seeds)]
    assert chosen.count(0) >= 0.9 * seeds


def test_exploration_gives_a_way_with_bad_luck_another_chance() -> None:
    """Without exploration the first failures of a good way are never forgotten."""
    ways = (Way(1.0, 0.0, 1.0), Way(0.3, 0.0, 0.9))
    chosen = []
    for explores in (True, False):
        learners = [Learner(seed, ways, explores=explores) for seed in range(10)]
        for learner in learners:
            learner.observe(0, succeeded=True)
            for _ in range(3):
                learner.observe(1, succeeded=False)
        chosen.append(sum(learner.run(ways, 60)[-1] == 1 for learner in learners))
    assert chosen[1] == 0
    assert chosen[0] >= 8


def test_a_way_that_becomes_bad_is_left_within_twenty_runs() -> None:
    seeds = 30 * EFFORT
    left = 0
    for seed in range(seeds):
        learner = Learner(seed)
        learner.run(WAYS, 50)
        learner.run(SPOILT, 20)
        left += learner.run(SPOILT, 10).count(0) <= 2
    assert left >= 0.9 * seeds


@pytest.mark.soak
@pytest.mark.skipif(EFFORT == 1, reason="it takes many seeds")
def test_regret_stops_to_grow() -> None:
    learners = [Learner(seed) for seed in range(500)]
    for learner in learners:
        learner.run(WAYS, 50)
    early = sum(learner.regret for learner in learners)
    for learner in learners:
        learner.run(WAYS, 50)
    assert sum(learner.regret for learner in learners) - early < 0.5 * early


def test_the_newest_runs_count_most() -> None:
    cheap_first = [RunTrial(float(n), 1.0, 0.1 if n < 50 else 1.0, succeeded=True) for n in range(100)]
    assert Experience.of(cheap_first, 100.0).dollars > 0.9
    assert Experience.of(reversed(cheap_first), 100.0).dollars == Experience.of(cheap_first, 100.0).dollars


def test_old_runs_fade() -> None:
    """A run of a year ago hardly counts beside the run of today, and a single success is assumed without any."""
    failed = Experience.of([RunTrial(0.0, 1.0, 0.0, succeeded=False)], 12 * MONTH)
    assert failed.success > 0.99
    assert Experience.of([RunTrial(0.0, 1.0, 0.0, succeeded=False)], 0.0).success == 0.5
    both = Experience.of(
        [RunTrial(0.0, 9.0, 0.0, succeeded=True), RunTrial(12 * MONTH, 1.0, 0.0, succeeded=True)], 12 * MONTH
    )
    assert both.seconds < 1.01


def test_experience_is_bounded() -> None:
    experience = Experience.of((RunTrial(float(n), 1.0, 0.0, succeeded=True) for n in range(10_000)), 10_000.0)
    assert experience.runs == MOST_TRIALS
    assert experience.trials[0].at == 9999.0


def test_nothing_is_expected_without_experience() -> None:
    assert Experience().estimate == RunEstimate(success=1.0)


def test_the_same_seed_draws_the_same() -> None:
    experience = Experience.of([RunTrial(0.0, 2.0, 0.5, succeeded=True), RunTrial(1.0, 4.0, 0.7, succeeded=False)], 1.0)
    assert experience.sample(Random(1)) == experience.sample(Random(1))
    assert experience.sample(Random(1)) != experience.sample(Random(2))


def test_an_expected_cost_counts_further_runs() -> None:
    action = Action("ask", effects={"done": True}, cost=2.0)
    estimate = RunEstimate(seconds=4.0, dollars=0.5, success=0.5, runs=10)
    assert Objective(cost=1, seconds=0.25, dollars=2).price(action, estimate).cost == (2.0 + 1.0 + 1.0) * 2
    dear = Action("ask", effects={"done": True}, cost=lambda world: 3.0)
    assert Objective.COST.price(dear, estimate).cost_in(WorldState({})) == 6.0


@pytest.mark.parametrize("weights", [(0, 0, 0), (-1, 0, 0), (float("nan"), 0, 0)])
def test_an_objective_weighs_something(weights: tuple[float, float, float]) -> None:
    with pytest.raises(ConfigurationError, match="Objective"):
        Objective(*weights)


def test_objectives_are_read_from_names_and_weights() -> None:
    assert Objective.of("time") == Objective.TIME
    assert Objective.of({"cost": 1, "dollars": 5}) == Objective(cost=1, dollars=5)
    assert Objective.of(Objective.DOLLARS.to_data()) == Objective.DOLLARS
    with pytest.raises(ConfigurationError, match="write cost, time, dollars"):
        Objective.of("speed")


def test_the_chance_of_a_plan_is_the_chance_of_all_its_actions() -> None:
    first = Action("first", effects={"a": True}, estimate=RunEstimate(seconds=2, dollars=0.1, success=0.5, runs=8))
    second = Action("second", {"a": True}, {"b": True}, estimate=RunEstimate(seconds=3, success=0.8, runs=3))
    plan = AStarPlanner().plan(WorldState({}), [first, second], Goal("goal", {"b": True}))
    assert plan is not None
    assert plan.expected.success == pytest.approx(0.4)
    assert plan.expected.seconds == plan.expected.makespan == pytest.approx(2 / 0.5 + 3 / 0.8)
    assert plan.expected.dollars == pytest.approx(0.2)
    assert plan.expected.runs == 3
