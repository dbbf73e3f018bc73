"""Which of several ways is taken: cost, then steps, then the more specific, then the order of the source."""

from __future__ import annotations

from dataclasses import dataclass

from tactician import ProcessStatus, UserInput, achieves_goal, action, planned_agent
from tests.agents.running import started, steps


@dataclass(frozen=True)
class Clue:
    text: str


@dataclass(frozen=True)
class Hint:
    text: str


@dataclass(frozen=True)
class Answer:
    text: str


class Answering:
    """What the agents of this module have in common: the goal."""

    @achieves_goal("told")
    @action
    def tell(self, answer: Answer) -> str:
        return answer.text


async def test_the_cheaper_way_is_taken_even_if_it_is_longer() -> None:
    @planned_agent(description="has a dear short way")
    class Thrifty(Answering):
        @action(cost=0.9)
        def ask_an_expert(self, user_input: UserInput) -> Answer:
            raise AssertionError("too dear")

        @action(cost=0.2)
        def search(self, user_input: UserInput) -> Clue:
            return Clue("c")

        @action(cost=0.2)
        def think(self, clue: Clue) -> Answer:
            return Answer("thought")

    process = await started(Thrifty(), "why")
    assert steps(process) == ["search", "think", "tell"]
    assert process.result == "thought"


async def test_at_equal_cost_the_way_with_fewest_steps_is_taken() -> None:
    @planned_agent(description="has a detour that costs nothing")
    class Direct(Answering):
        @action
        def search(self, user_input: UserInput) -> Clue:
            raise AssertionError("a detour")

        @action
        def think(self, clue: Clue) -> Answer:
            raise AssertionError("a detour")

        @action
        def know(self, user_input: UserInput) -> Answer:
            return Answer("known")

    assert (await started(Direct(), "why")).result == "known"


async def test_at_equal_cost_and_length_the_more_specific_action_is_taken() -> None:
    @planned_agent(description="can use one or two inputs")
    class Specific(Answering):
        @action
        def guess(self, user_input: UserInput) -> Answer:
            return Answer("guessed")

        @action
        def deduce(self, user_input: UserInput, clue: Clue) -> Answer:
            return Answer("deduced")

    assert (await started(Specific(), "why")).result == "guessed"
    assert (await started(Specific(), "why", Clue("c"))).result == "deduced"


async def test_otherwise_the_action_that_is_declared_first_is_taken() -> None:
    @planned_agent(description="has two equal ways")
    class Ordered(Answering):
        @action
        def second_by_name(self, user_input: UserInput) -> Answer:
            return Answer("declared first")

        @action
        def first_by_name(self, user_input: UserInput) -> Answer:
            raise AssertionError("declared second")

    assert (await started(Ordered(), "why")).result == "declared first"


@planned_agent(description="has two goals")
class TwoGoals:
    @achieves_goal("an answer", value=0.4)
    @action
    def answer(self, user_input: UserInput) -> Answer:
        return Answer("a")

    @achieves_goal("a hint", value=0.6)
    @action(cost=0.1)
    def hint(self, clue: Clue) -> Hint:
        return Hint("h")


async def test_the_goal_of_most_net_value_is_reached() -> None:
    process = await started(TwoGoals(), "why", Clue("c"))
    assert process.goal is not None
    assert process.goal.name == "hint"
    assert process.result == Hint("h")


async def test_a_goal_of_less_value_is_reached_when_the_other_one_cannot() -> None:
    process = await started(TwoGoals(), "why")
    assert process.goal is not None
    assert process.goal.name == "answer"


async def test_the_cost_of_the_way_is_taken_from_the_value_of_the_goal() -> None:
    @planned_agent(description="its better goal is dear")
    class Dear(TwoGoals):
        @action(cost=0.9)
        def search(self, user_input: UserInput) -> Clue:
            raise AssertionError("not worth it")

    assert (await started(Dear(), "why")).result == Answer("a")


async def test_goals_of_equal_value_count_in_the_order_of_the_source() -> None:
    @planned_agent(description="its goals are worth the same")
    class Equal:
        @achieves_goal("an answer")
        @action
        def answer(self, user_input: UserInput) -> Answer:
            return Answer("a")

        @achieves_goal("a hint")
        @action
        def hint(self, user_input: UserInput) -> Hint:
            return Hint("h")

    assert (await started(Equal(), "why")).result == Answer("a")


async def test_a_goal_that_is_reached_ends_the_process_though_another_one_is_worth_the_same() -> None:
    @planned_agent(description="reaches one goal, and could reach the other")
    class Content:
        @achieves_goal("a hint", value=0.5)
        @action(cost=0.5)
        def hint(self, clue: Clue) -> Hint:
            raise AssertionError("not worth more than what is reached")

        @achieves_goal("a clue")
        @action
        def search(self, user_input: UserInput) -> Clue:
            return Clue("c")

    process = await started(Content(), "why")
    assert process.result == Clue("c"), process.failure
    assert steps(process) == ["search"]


async def test_goals_that_cannot_be_reached_are_all_explained() -> None:
    process = await started(TwoGoals())
    assert process.status is ProcessStatus.STUCK
    assert process.failure == (
        "No plan reaches 'answer': 'UserInput' is missing and no action provides it; "
        "the nearest action is 'answer', which needs 'UserInput'. "
        "No plan reaches 'hint': 'Clue' is missing and no action provides it; "
        "the nearest action is 'hint', which needs 'Clue'. "
        "On the blackboard: nothing."
    )


async def test_the_process_ends_as_soon_as_a_goal_is_reached() -> None:
    @planned_agent(description="reaches a goal on the way")
    class Early:
        @achieves_goal("a clue", value=0.5)
        @action
        def search(self, user_input: UserInput) -> Clue:
            return Clue("c")

        @achieves_goal("an answer", value=0.5)
        @action(cost=0.1)
        def think(self, clue: Clue) -> Answer:
            raise AssertionError("worth less than what is reached")

    assert steps(await started(Early(), "why")) == ["search"]


async def test_a_better_goal_is_worth_going_on_for() -> None:
    @planned_agent(description="the second goal is better")
    class Ambitious:
        @achieves_goal("a clue", value=0.1)
        @action
        def search(self, user_input: UserInput) -> Clue:
            return Clue("c")

        @achieves_goal("an answer", value=0.9)
        @action
        def think(self, clue: Clue) -> Answer:
            return Answer("a")

    assert steps(await started(Ambitious(), "why")) == ["search", "think"]
