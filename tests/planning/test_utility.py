from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given

from tactician.planning import Action, AStarPlanner, Goal, Plan, UtilityPlanner, WorldState
from tactician.planning.hybrid import HybridPlanner
from tactician.planning.model import NIRVANA
from tactician.planning.planner import PlanningAlgorithm
from tests.planning.random_problems import Choice, brute_force, choices
from tests.support.effort import examples

HERE = WorldState({"hungry": True, "rich": False})
COOK = Action("cook", {"hungry": True}, {"fed": True}, cost=0.5, value=0.75)
FAST = Action("fast", {"hungry": True}, {}, cost=0.25)
SLEEP = Action("sleep", {"hungry": False}, {"rested": True}, value=9)
FED = Goal("fed", {"fed": True})


def names(plans: list[Plan]) -> list[tuple[str, str]]:
    return [(plan.goal.name, str(plan)) for plan in plans]


class TestUtility:
    planner = UtilityPlanner()

    def test_runs_what_is_worth_most_now(self) -> None:
        plan = self.planner.plan(HERE, [FAST, COOK, SLEEP], NIRVANA)

        assert plan is not None
        assert plan.actions == (COOK,)
        assert plan.goal is NIRVANA
        assert plan.net_value == 0.25

    def test_an_action_may_be_worth_less_than_it_costs(self) -> None:
        assert str(self.planner.plan(HERE, [FAST, SLEEP], NIRVANA)) == "fast"

    def test_there_is_no_plan_when_nothing_can_run(self) -> None:
        assert self.planner.plan(HERE, [SLEEP], NIRVANA) is None
        assert self.planner.plans(HERE, [SLEEP], [FED]) == []
        assert self.planner.best(HERE, [SLEEP], []) is None

    def test_without_goals_it_serves_nirvana(self) -> None:
        assert names(self.planner.plans(HERE, [FAST, COOK], [])) == [("nirvana", "cook")]

    def test_a_reached_goal_ends_it_although_there_is_more_to_gain(self) -> None:
        world = HERE.with_(fed=True)

        assert str(self.planner.best(world, [COOK], [FED])) == "nothing to do"
        assert names(self.planner.plans(world, [COOK], [NIRVANA, FED])) == [
            ("fed", "nothing to do"),
            ("nirvana", "cook"),
        ]

    def test_a_goal_is_reached_by_the_best_of_the_actions_that_reach_it(self) -> None:
        play = Action("play", effects={"played": True}, value=5)
        order = Action("order", {"hungry": True}, {"fed": True}, cost=2)

        assert str(self.planner.plan(HERE, [play, order, COOK], FED)) == "cook"
        assert str(self.planner.best(HERE, [play, order, COOK], [FED])) == "play"
        assert str(self.planner.best(HERE, [play, order, COOK], [Goal("fed", {"fed": True}, value=6)])) == "cook"
        assert self.planner.plan(HERE, [play], FED) is None

    def test_more_specific_action_wins_then_the_first_declared(self) -> None:
        first, second, vague = (
            Action("1st", {"hungry": True, "rich": False}, cost=0.1, value=0.3),
            Action("2nd", {"hungry": True, "rich": False}, cost=0.0, value=0.2),
            Action("vague", {"hungry": True}, value=0.2),
        )

        assert str(self.planner.best(HERE, [vague, first, second], [])) == "1st"
        assert str(self.planner.best(HERE, [vague, second, first], [])) == "2nd"

    def test_asks_from_the_best_action_on_and_no_further_than_needed(self) -> None:
        asked: list[str] = []

        def determine(name: str) -> bool:
            asked.append(name)
            return name == "sunny"

        actions = [Action(name, {name: True}, value=value) for value, name in enumerate(["free", "sunny", "windy"])]

        assert str(UtilityPlanner(determine).best(WorldState(), actions, [])) == "sunny"
        assert asked == ["windy", "sunny"]

    def test_prune_keeps_what_could_be_chosen_now(self) -> None:
        assert self.planner.prune(HERE, [FAST, COOK, SLEEP], [FED]) == (COOK,)


class TestHybrid:
    planner = HybridPlanner()
    SHOP = Action("shop", {}, {"food": True}, cost=1)
    BAKE = Action("bake", {"food": True}, {"fed": True}, cost=1)
    READ = Action("read", {"read": False}, {"read": True}, cost=0.5, value=1)
    IDLE = Action("idle")

    def best(self, world: WorldState, actions: list[Action], *goals: Goal) -> str:
        return str(self.planner.best(world, actions, goals))

    def test_does_what_is_worth_while_then_goes_for_the_goal_and_ends_there(self) -> None:
        actions = [self.IDLE, self.READ, self.SHOP, self.BAKE]
        world, done = WorldState({"read": False}), list[str]()

        while (plan := self.planner.best(world, actions, [FED])) is not None and plan.actions:
            world = world.apply(plan.actions[0])
            done.append(plan.actions[0].name)

        assert done == ["read", "shop", "bake"]

    def test_a_reached_goal_ends_it_although_there_is_more_to_gain(self) -> None:
        assert self.best(WorldState({"read": False, "fed": True}), [self.READ], NIRVANA, FED) == "nothing to do"

    def test_does_what_it_can_when_no_goal_can_be_reached(self) -> None:
        assert self.best(WorldState(), [self.IDLE, FAST, self.BAKE], FED) == "idle"
        assert self.planner.best(WorldState(), [self.BAKE], [FED]) is None

    def test_plan_for_one_goal_is_the_cheapest_and_for_nirvana_the_most_useful(self) -> None:
        world, actions = WorldState({"read": False}), [self.IDLE, self.READ, self.SHOP, self.BAKE]

        assert str(self.planner.plan(world, actions, FED)) == "shop -> bake"
        assert str(self.planner.plan(world, actions, NIRVANA)) == "read"

    def test_plans_come_in_the_order_of_preference(self) -> None:
        actions = [self.READ, self.SHOP, self.BAKE]
        goals = [FED, Goal("sat", {"sitting": True})]

        plans = self.planner.plans(WorldState({"read": False, "sitting": True}), actions, goals)
        later = self.planner.plans(WorldState({"read": True}), actions, goals)

        assert names(plans) == [("sat", "nothing to do"), ("nirvana", "read"), ("fed", "shop -> bake")]
        assert names(later) == [("fed", "shop -> bake"), ("nirvana", "shop")]


def net(action: Action) -> float:
    assert not callable(action.value)
    assert not callable(action.cost)
    return round(action.value - action.cost, 6)


def worth(goal: Goal) -> float:
    assert not callable(goal.value)
    return goal.value


def most_useful(world: WorldState, actions: list[Action]) -> Action | None:
    runnable = [action for action in actions if action.is_runnable_in(world)]
    return max(runnable, key=lambda action: (net(action), len(action.pre)), default=None)


def reached(world: WorldState, goals: list[Goal]) -> Goal | None:
    return max((goal for goal in goals if goal.is_reached_in(world)), key=worth, default=None)


def utility_oracle(world: WorldState, actions: list[Action], goals: list[Goal]) -> tuple[str, str] | None:
    if (goal := reached(world, goals)) is not None:
        return goal.name, "nothing to do"
    options = [
        (round(net(action) + worth(goal), 6), len(action.pre), goal.name, action.name)
        for action in actions
        for goal in [*goals, NIRVANA]
        if action.is_runnable_in(world) and (goal == NIRVANA or goal.is_reached_in(world.apply(action)))
    ]
    best = max(options, key=lambda option: option[:2], default=None)
    return best and (best[2], best[3])


def hybrid_oracle(world: WorldState, actions: list[Action], goals: list[Goal]) -> tuple[str, str | float] | None:
    if (goal := reached(world, goals)) is not None:
        return goal.name, "nothing to do"
    useful = most_useful(world, actions)
    if useful is not None and net(useful) > 0:
        return "nirvana", useful.name
    costs = {goal.name: cost[0] / 10 for goal in goals if (cost := brute_force(world, actions, goal)) is not None}
    reachable = [goal for goal in goals if goal.name in costs]
    if reachable:
        best = max(reachable, key=lambda goal: round(worth(goal) - costs[goal.name], 6))
        return best.name, round(costs[best.name], 6)
    return None if useful is None else ("nirvana", useful.name)


@given(choices())
@examples(300)
def test_utility_planner_chooses_like_a_simple_oracle(choice: Choice) -> None:
    plan = UtilityPlanner().best(*choice)

    assert (plan and (plan.goal.name, str(plan))) == utility_oracle(*choice)
    plans = UtilityPlanner().plans(*choice)
    assert plan == (plans[0] if plans else None)


@given(choices())
@examples(300)
def test_hybrid_planner_chooses_like_a_simple_oracle(choice: Choice) -> None:
    world, actions, goals = choice
    worthless = [Action(a.name, a.pre, a.effects, a.cost) for a in actions]
    for offered in actions, worthless:
        one = goals[: 1 if offered is actions else None]  # values of actions may decide between goals

        plan = HybridPlanner().best(world, offered, one)

        searched = plan is not None and plan.actions and plan.goal != NIRVANA
        chosen = plan and (plan.goal.name, round(plan.cost, 6) if searched else str(plan))
        assert chosen == hybrid_oracle(world, offered, one)
        plans = HybridPlanner().plans(world, offered, one)
        assert plan == (plans[0] if plans else None)


@pytest.mark.parametrize("planner", [AStarPlanner(), UtilityPlanner(), HybridPlanner()])
def test_functions_are_called_at_most_once_in_a_call_of_any_planner(planner: PlanningAlgorithm) -> None:
    calls: list[str] = []

    def amount(owner: str) -> Callable[[WorldState], float]:
        def one(world: WorldState) -> float:
            calls.append(owner)
            return 1.0

        return one

    actions = [Action(name, {}, {"fed": True}, amount(f"cost {name}"), amount(f"value {name}")) for name in ("a", "b")]
    goals = [Goal("fed", {"fed": True}, amount("fed")), Goal("full", {"fed": True}, amount("full"))]

    for call in (
        lambda: planner.plans(HERE, actions, goals),
        lambda: planner.best(HERE, actions, goals),
        lambda: planner.prune(HERE, actions, goals),
        lambda: planner.explain(HERE, actions, goals[0], about=actions[1], others=goals),
        lambda: planner.explain(HERE, actions, NIRVANA, about=actions[0]),
    ):
        call()

        assert len(calls) == len(set(calls))
        calls.clear()


@pytest.mark.parametrize("planner", [UtilityPlanner(), HybridPlanner()])
def test_planners_are_interchangeable(planner: PlanningAlgorithm) -> None:
    consultation = planner.consult(WorldState(), [Action("tan", {"sunny": True}, value=1)], [NIRVANA])

    assert consultation.advance() == "sunny"
    consultation.answer(True)
    assert consultation.advance() is None
    assert str(consultation.plan) == "tan"
