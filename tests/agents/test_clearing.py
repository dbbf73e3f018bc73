"""`clear_blackboard`: nothing but the output of an action stays."""

from __future__ import annotations

from dataclasses import dataclass

from tactician import PlannedAgent, ProcessStatus, UserInput, achieves_goal, action, planned_agent
from tests.agents.running import started, steps


@dataclass(frozen=True)
class Raw:
    content: str


@dataclass(frozen=True)
class Processed:
    content: str


@dataclass(frozen=True)
class Final:
    content: str


@planned_agent(description="Multi-step document processing")
class DocumentProcessor:
    @action(clear_blackboard=True, post=["trimmed"])
    def preprocess(self, raw: Raw) -> Processed:
        return Processed(raw.content.strip())

    @achieves_goal("Produce final output")
    @action
    def transform(self, processed: Processed) -> Final:
        return Final(processed.content.upper())


async def test_only_the_output_stays() -> None:
    process = await started(DocumentProcessor(), Raw(" x "), UserInput("y"))
    assert process.result == Final("X")
    assert process.blackboard.objects == (Processed("x"), Final("X"))
    assert process.blackboard.condition("trimmed")


async def test_the_planner_knows_what_will_be_gone() -> None:
    @planned_agent(description="needs what was cleared away")
    class Forgetful(DocumentProcessor):
        @action
        def read(self, user_input: UserInput) -> Raw:
            return Raw(user_input.content)

        @achieves_goal("both")
        @action(value=5)
        def both(self, processed: Processed, user_input: UserInput) -> str:
            raise AssertionError("the user input is gone when there is something processed")

    process = await started(Forgetful(), "x")
    assert steps(process) == ["read", "preprocess", "transform"]


async def test_other_actions_may_run_again_and_conditions_are_unset() -> None:
    @planned_agent(description="cleans up twice")
    class Cleaner:
        @action(post=["warm"])
        def warm_up(self, user_input: UserInput) -> Raw:
            return Raw("x")

        @action(pre=["warm"], clear_blackboard=True, can_rerun=True)
        def clean(self, raw: Raw) -> UserInput | Processed:
            self.rounds += 1
            return UserInput("again") if self.rounds == 1 else Processed("x")

        @achieves_goal("cleaned")
        @action
        def finish(self, processed: Processed) -> str:
            return processed.content

        rounds = 0

    process = await started(Cleaner(), "x")
    assert process.status is ProcessStatus.COMPLETED
    assert steps(process) == ["warm_up", "clean", "warm_up", "clean", "finish"]


async def test_a_goal_may_clear_the_blackboard() -> None:
    @planned_agent(description="leaves only the result")
    class Tidy:
        @achieves_goal("tidy")
        @action(clear_blackboard=True)
        def tidy(self, raw: Raw) -> Final:
            return Final(raw.content)

    process = await started(Tidy(), Raw("x"))
    assert process.result == Final("x")
    assert process.blackboard.objects == (Final("x"),)


async def test_nothing_is_cleared_when_nothing_came() -> None:
    @planned_agent(description="finds nothing")
    class Nothing(DocumentProcessor):
        @action(clear_blackboard=True)
        def preprocess(self, raw: Raw) -> Processed | None:  # type: ignore[override]  # on purpose
            return None

    process = await started(Nothing(), Raw("x"))
    assert process.status is ProcessStatus.STUCK
    assert process.blackboard.objects == (Raw("x"),)


def test_the_spec_says_it() -> None:
    spec = PlannedAgent(DocumentProcessor()).spec
    assert [action.clear_blackboard for action in spec.actions] == [True, False]
