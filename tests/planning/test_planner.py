from __future__ import annotations

import pytest

from tactician.planning import Action, AStarPlanner, Goal, PlanningBudget, SearchLimitExceeded, WorldState


def action(name: str, pre: str = "", effects: str = "", cost: float = 0.0) -> Action:
    """An action from words: `-x` stands for "x is False"."""
    return Action(name, conditions(pre), conditions(effects), cost)


def conditions(words: str) -> dict[str, bool]:
    return {word.removeprefix("-"): not word.startswith("-") for word in words.split()}


def plan_names(world: str, actions: list[Action], goal: str) -> list[str] | None:
    plan = AStarPlanner().plan(WorldState(conditions(world)), actions, Goal("goal", conditions(goal)))
    return None if plan is None else [action.name for action in plan.actions]


class TestPlan:
    def test_runs_actions_whose_effects_enable_the_next(self) -> None:
        actions = [action("shoot", "gun", "dead"), action("buy", "money", "gun -money"), action("work", "", "money")]

        assert plan_names("", actions, "dead") == ["work", "buy", "shoot"]

    def test_is_empty_for_a_goal_reached_already(self) -> None:
        assert plan_names("rich", [action("work", "", "rich")], "rich") == []
        assert plan_names("", [], "") == []

    def test_is_none_for_a_goal_out_of_reach(self) -> None:
        assert plan_names("", [action("buy", "money", "gun")], "gun") is None
        assert plan_names("", [action("a", "x", "y"), action("b", "y", "x")], "y") is None

    def test_is_none_when_conditions_cannot_hold_together(self) -> None:
        actions = [action("eat", "cake", "fed -cake"), action("look", "cake", "seen")]

        assert plan_names("cake", actions, "fed cake") is None
        assert plan_names("cake", actions, "fed seen") == ["look", "eat"]

    def test_respects_negative_preconditions_and_goals(self) -> None:
        actions = [action("open", "-open", "open"), action("close", "open", "-open"), action("leave", "open", "out")]

        assert plan_names("-open", actions, "out -open") == ["open", "leave", "close"]

    def test_repeats_an_action_when_its_effect_is_used_up(self) -> None:
        actions = [action("earn", "-money", "money"), *(action(f"buy {n}", "money", f"{n} -money") for n in "abc")]

        assert plan_names("-money", actions, "a b c") == ["earn", "buy a", "earn", "buy b", "earn", "buy c"]

    def test_guards_of_type_flow_do_not_block(self) -> None:
        """An action that runs once and whose output must not be there yet may be preceded by a rival of its output."""
        actions = [
            action("draft", "topic -text -ran_draft", "text ran_draft", 1),
            action("copy", "topic -text -ran_copy", "text ran_copy", 2),
            action("publish", "text -public -ran_publish", "public ran_publish", 1),
        ]
        start = "topic -text -public -ran_draft -ran_copy -ran_publish"

        assert plan_names(start, actions, "public ran_publish") == ["draft", "publish"]
        assert plan_names(start, actions, "public ran_copy") == ["copy", "publish"]
        assert plan_names(start, actions, "ran_draft ran_copy") is None
        assert plan_names(start.replace("-ran_draft", "ran_draft"), actions, "public") == ["copy", "publish"]


class TestPreference:
    @pytest.mark.parametrize("cost", [0.0, 0.1, 1.0])
    def test_short_plan_beats_early_progress(self, cost: float) -> None:
        actions = [
            action("a", "s", "g1", cost),
            action("b", "g1", "p", cost),
            action("c", "p", "q", cost),
            action("d", "q", "g2", cost),
            action("x", "s -g1", "m", cost),
            action("y", "m -g1", "g1 g2", cost),
        ]

        assert plan_names("s -g1 -g2", actions, "g1 g2") == ["x", "y"]

    def test_least_cost_beats_fewest_steps(self) -> None:
        actions = [action("jump", "", "there", 1), action("walk", "", "half", 0.25), action("on", "half", "there", 0.5)]

        assert plan_names("", actions, "there") == ["walk", "on"]

    def test_equal_cost_takes_fewest_steps_in_spite_of_rounding(self) -> None:
        actions = [action("one", "", "half", 0.1), action("two", "half", "there", 0.2), action("go", "", "there", 0.3)]

        assert plan_names("", actions, "there") == ["go"]
        assert plan_names("", [*actions[:2], action("go", "", "there", 0.1 + 0.2)], "there") == ["go"]

    def test_tiny_and_huge_costs_keep_their_order(self) -> None:
        actions = [action("a", "", "x", 1e300), action("b", "", "x", 1e299), action("c", "x", "y", 2e-9)]

        assert plan_names("", [*actions, action("d", "x", "y", 1e-9)], "y") == ["b", "d"]

    def test_free_actions_make_no_detours(self) -> None:
        detours = [action(f"d{n}", f"p{n}" if n else "", f"p{n + 1}") for n in range(5)]

        assert plan_names("", [*detours, action("late", "p5", "goal"), action("go", "", "goal")], "goal") == ["go"]

    def test_more_specific_action_wins_then_the_first_declared(self) -> None:
        vague, first, second = (
            action("vague", "x", "goal", 1),
            action("1st", "x y", "goal", 1),
            action("2nd", "x y", "goal", 1),
        )

        assert plan_names("x y", [vague, second, first], "goal") == ["2nd"]
        assert plan_names("x y", [vague, first, second], "goal") == ["1st"]
        assert plan_names("x", [second, first, vague], "goal") == ["vague"]

    def test_more_specific_action_may_need_what_the_plan_makes_anyway(self) -> None:
        actions = [action("quick", "notes", "report"), action("thorough", "notes figures", "report")]
        sources = [action("note", "", "notes"), action("figure", "", "figures")]

        assert plan_names("", [*actions, *sources], "report figures") == ["note", "figure", "thorough"]
        assert plan_names("", [*actions, *sources], "report") == ["note", "quick"]

    def test_first_declared_of_two_equal_routes_wins(self) -> None:
        routes = {n: [action(f"{n}1", "", f"{n}"), action(f"{n}2", f"{n}", "goal")] for n in "ab"}

        assert plan_names("", routes["a"] + routes["b"], "goal") == ["a1", "a2"]
        assert plan_names("", routes["b"] + routes["a"], "goal") == ["b1", "b2"]

    def test_independent_steps_run_specific_first_then_as_declared(self) -> None:
        actions = [action("a", "", "a"), action("b", "", "b"), action("c", "x y", "c"), action("d", "x", "d")]

        assert plan_names("x y", actions, "d b c a") == ["c", "d", "a", "b"]
        assert plan_names("x y", actions[::-1], "d b c a") == ["c", "d", "b", "a"]


class TestScale:
    """Cases on which a plain A* explodes, or stops at a cap with a wrong answer."""

    @pytest.mark.parametrize("cost", [0.0, 0.1, 1.0])
    def test_chain_among_misleading_actions(self, cost: float) -> None:
        chain = [action(f"step {n}", f"t{n}", f"t{n + 1}", cost) for n in range(10)]
        misleading = [
            *(action(f"side {n}", f"t{n % 10}", f"side{n}", cost) for n in range(20)),
            *(action(f"undo {n}", f"t{n}", f"-t{n} t0", cost) for n in range(1, 10)),
            *(action(f"lure {n}", f"t{n}", f"lure{n} -t{n + 1}", cost) for n in range(10)),
            *(action(f"trap {n}", f"lure{n} side{n}", f"t{n + 1} -t0", cost) for n in range(10)),
            *(action(f"idle {n}", "", f"idle{n}", cost) for n in range(11)),
        ]

        assert plan_names("t0", misleading + chain, "t10") == [step.name for step in chain]

    @pytest.mark.parametrize("count", [14, 50])
    def test_many_independent_inputs(self, count: int) -> None:
        makers = [action(f"make {n}", "", f"in{n}", 0.5) for n in range(count)]
        join = action("join", " ".join(f"in{n}" for n in range(count)), "goal", 0.5)

        assert plan_names("", [join, *makers], "goal") == [maker.name for maker in makers] + ["join"]

    @pytest.mark.parametrize("count", [14, 50])
    def test_many_independent_inputs_with_alternatives(self, count: int) -> None:
        makers = [
            action(f"{n}/{k}", f"-in{n}", f"in{n} ran{n}/{k}", 1 + (n + k) % 3) for n in range(count) for k in range(3)
        ]
        join = action("join", " ".join(f"in{n}" for n in range(count)), "goal", 0.5)
        cheap = [f"{n}/{(-n) % 3}" for n in range(count)]

        assert plan_names(" ".join(f"-in{n}" for n in range(count)), [join, *makers], "goal") == [*cheap, "join"]

    @pytest.mark.parametrize("count", [14, 50])
    def test_alternatives_with_prices_of_their_own_inputs(self, count: int) -> None:
        """The dear maker needs a free input and the cheap one a dear input: neither can be ruled out beforehand."""
        makers = [
            [
                action(f"dear {n}", f"x{n}", f"in{n}", 2.0),
                action(f"get x{n}", "", f"x{n}", 0.0),
                action(f"cheap {n}", f"y{n}", f"in{n}", 0.5),
                action(f"get y{n}", "", f"y{n}", 1.0 if n % 2 else 2.0),
            ]
            for n in range(count)
        ]
        join = action("join", " ".join(f"in{n}" for n in range(count)), "goal")
        actions = [join, *(each for four in makers for each in four)]

        plan = AStarPlanner().plan(WorldState(), actions, Goal("goal", {"goal": True}))

        assert plan is not None
        assert plan.cost == sum(1.5 if n % 2 else 2.0 for n in range(count))
        assert len(plan.actions) == 2 * count + 1

    def test_inputs_among_a_thousand_distractors(self) -> None:
        makers = [action(f"make {n}", "", f"in{n}", 0.5 + n / 100) for n in range(50)]
        join = action("join", " ".join(f"in{n}" for n in range(50)), "goal", 0.5)
        distractors = [
            *(action(f"junk {n}", "", f"junk{n}", 0.1) for n in range(250)),
            *(action(f"eat {n}", f"in{n % 50}", f"-in{n % 50} eaten", 0.1) for n in range(250)),
            *(action(f"waste {n}", f"junk{n}", f"waste{n}", 0.1) for n in range(250)),
            *(action(f"dear {n}", f"junk{n}", f"in{n % 50} -in{(n + 1) % 50}", 3) for n in range(250)),
        ]

        assert plan_names("", [*distractors, join, *makers], "goal") == [maker.name for maker in makers] + ["join"]

    def test_long_chain(self) -> None:
        chain = [action(f"step {n}", f"t{n} -t{n + 1}", f"t{n + 1}", 0.1) for n in range(1000)]
        start = "t0 " + " ".join(f"-t{n + 1}" for n in range(1000))

        assert plan_names(start, chain[::-1], "t1000") == [step.name for step in chain]

    def test_conflict_beside_many_independent_inputs(self) -> None:
        makers = [action(f"make {n}", "", f"in{n}", 0.5) for n in range(50)]
        rivals = [action("eat", "cake", "fed -cake"), action("sell", "cake", "rich -cake")]

        assert plan_names("cake", [*makers, *rivals], " ".join(f"in{n}" for n in range(50)) + " fed rich") is None


class TestLimit:
    def test_is_reported_with_what_was_tried(self) -> None:
        earn = action("earn", "-money", "money", 1)
        actions = [earn, *(action(f"buy {n}", "money", f"{n} -money", 1) for n in "abcdef")]
        goal = Goal("all", conditions("a b c d e f"))

        with pytest.raises(SearchLimitExceeded, match="'all' after exploring 5 states") as caught:
            AStarPlanner(budget=PlanningBudget(expansions=5)).plan(WorldState(conditions("-money")), actions, goal)

        assert caught.value.goal == goal
        assert caught.value.expansions == 5
        assert caught.value.closest[0] == earn

    def test_does_not_count_what_needs_no_search(self) -> None:
        chain = [action(f"step {n}", f"t{n}", f"t{n + 1}") for n in range(5)]

        plan = AStarPlanner(budget=PlanningBudget(expansions=0)).plan(
            WorldState({"t0": True}), chain, Goal("end", {"t5": True})
        )

        assert plan is not None


class TestManyGoals:
    ACTIONS = (
        action("write", "topic", "text", 1),
        action("review", "text", "reviewed", 2),
        action("nap", "", "rested", 3),
        action("fly", "wings", "high", 1),
    )
    GOALS = (
        Goal("rested", {"rested": True}, value=4.0),
        Goal("reviewed", {"reviewed": True}, value=10.0),
        Goal("high", {"high": True}, value=99.0),
        Goal("text", {"text": True}, value=2.0),
    )

    def test_plans_come_best_first_and_only_for_reachable_goals(self) -> None:
        plans = AStarPlanner().plans(WorldState({"topic": True}), self.ACTIONS, self.GOALS)

        assert [(plan.goal.name, plan.net_value) for plan in plans] == [
            ("reviewed", 7.0),
            ("rested", 1.0),
            ("text", 1.0),
        ]

    def test_of_goals_that_come_to_the_same_one_that_is_reached_is_first(self) -> None:
        goals = (Goal("high", {"high": True}, value=1.0), Goal("rested", {"rested": True}))
        world = WorldState({"wings": True, "rested": True})
        planner = AStarPlanner()

        assert [plan.goal.name for plan in planner.plans(world, self.ACTIONS, goals)] == ["rested", "high"]
        best = planner.best(world, self.ACTIONS, goals)
        assert best is not None
        assert (best.goal.name, best.actions) == ("rested", ())

    def test_whether_it_is_reached_is_asked_when_that_decides(self) -> None:
        goals = (Goal("high", {"high": True}, value=1.0), Goal("rested", {"rested": True}))
        world, asked = WorldState({"wings": True}), list[str]()

        def determine(name: str) -> bool | None:
            asked.append(name)
            return name == "rested"

        best = AStarPlanner(determine).best(world, self.ACTIONS, goals)
        assert best is not None
        assert best.goal.name == "rested"
        assert asked[-1] == "rested"

    def test_prune_keeps_what_some_plan_uses_in_order(self) -> None:
        world = WorldState({"topic": True})

        assert AStarPlanner().prune(world, self.ACTIONS, self.GOALS) == self.ACTIONS[:3]
        assert AStarPlanner().prune(world, self.ACTIONS, self.GOALS[:1]) == (self.ACTIONS[2],)

    def test_equal_actions_that_are_not_the_same_object_stay_apart(self) -> None:
        planner, goal = AStarPlanner(), Goal("rested", {"rested": True})
        for nap in (action("nap", "", "rested", 3), action("nap", "", "rested", 3)):
            plan = planner.plan(WorldState(), [nap], goal)

            assert plan is not None
            assert plan.actions[0] is nap
