"""Conditions: computed by a method, set by an action, seen again on every tick."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

import pytest

from tactician import (
    Ai,
    Blackboard,
    Budget,
    OperationContext,
    Platform,
    ProcessOptions,
    ProcessStatus,
    UserInput,
    achieves_goal,
    action,
    condition,
    planned_agent,
)
from tactician.integrations.stepper import Stepper
from tactician.testing import ScriptedModel
from tests.agents.running import started, steps
from tests.support.stored import JsonStore


@dataclass(frozen=True)
class Draft:
    text: str


@dataclass(frozen=True)
class Review:
    ok: bool


@dataclass(frozen=True)
class Book:
    text: str


@planned_agent(description="publishes what is approved")
class Publisher:
    @condition
    def approved(self, draft: Draft) -> bool:
        return "good" in draft.text

    @achieves_goal("published")
    @action(pre=["approved"])
    def publish(self, draft: Draft) -> Book:
        return Book(draft.text)


async def test_an_action_runs_when_its_condition_holds() -> None:
    assert (await started(Publisher(), Draft("good"))).result == Book("good")


async def test_an_action_does_not_run_when_its_condition_is_false() -> None:
    process = await started(Publisher(), Draft("bad"))
    assert process.status is ProcessStatus.STUCK
    assert process.failure == (
        "No plan reaches 'publish': 'approved' is false and no action makes it true; "
        "the nearest action is 'publish', which needs 'approved'. On the blackboard: Draft."
    )


async def test_a_condition_can_be_async_and_have_a_name_of_its_own() -> None:
    @planned_agent(description="asks slowly")
    class Slow:
        @condition(name="is approved")
        async def check(self, draft: Draft) -> bool:
            return draft.text == "good"

        @achieves_goal("published")
        @action(pre=["is approved"])
        def publish(self, draft: Draft) -> Book:
            return Book(draft.text)

    assert (await started(Slow(), Draft("good"))).status is ProcessStatus.COMPLETED
    assert (await started(Slow(), Draft("bad"))).status is ProcessStatus.STUCK


async def test_a_condition_is_false_and_not_called_while_an_argument_is_missing() -> None:
    @planned_agent(description="needs a review that nobody writes")
    class Unreviewed:
        @condition
        def reviewed(self, draft: Draft, review: Review) -> bool:
            raise AssertionError("there is no review")

        @action(cost=1.0)
        def publish_unseen(self, draft: Draft) -> Book:
            return Book("unseen")

        @action(pre=["reviewed"])
        def publish(self, draft: Draft) -> Book:
            return Book("reviewed")

        @achieves_goal("told")
        @action
        def tell(self, book: Book) -> str:
            return book.text

    assert (await started(Unreviewed(), Draft("x"))).result == "unseen"


async def test_a_condition_may_ask_a_model() -> None:
    @planned_agent(description="lets a model judge")
    class Judge:
        @condition
        async def polite(self, draft: Draft, ai: Ai) -> bool:
            return await ai.evaluate_condition("the text is polite", draft.text)

        @achieves_goal("published")
        @action(pre=["polite"])
        def publish(self, draft: Draft) -> Book:
            return Book(draft.text)

    model = ScriptedModel({"value": True}, {"value": True})
    process = await started(Judge(), Draft("please"), model=model)
    assert process.status is ProcessStatus.COMPLETED
    assert process.usage.requests == len(model.calls)
    assert process.history[0].usage.requests == 0
    assert "please" in model.calls[0].prompt


async def test_each_condition_is_evaluated_once_a_tick_and_again_on_the_next() -> None:
    evaluated: Counter[str] = Counter()

    @planned_agent(description="counts")
    class Counting:
        @condition
        def ready(self, user_input: UserInput) -> bool:
            evaluated["ready"] += 1
            return True

        @action(pre=["ready"])
        def draft(self, user_input: UserInput) -> Draft:
            return Draft("x")

        @action(pre=["ready"])
        def review(self, draft: Draft) -> Review:
            return Review(ok=True)

        @achieves_goal("published")
        @action(pre=["ready"])
        def publish(self, draft: Draft, review: Review) -> Book:
            return Book(draft.text)

    process = await started(Counting(), "go")
    assert len(process.history) == 3
    assert evaluated["ready"] == 3  # one for each action; the goal is seen without it


async def test_a_condition_that_no_action_asks_for_is_not_evaluated() -> None:
    @planned_agent(description="has a condition too many")
    class Idle(Publisher):
        @condition
        def unused(self) -> bool:
            raise AssertionError("nobody asks")

    assert (await started(Idle(), Draft("good"))).status is ProcessStatus.COMPLETED


async def test_a_condition_that_changes_its_mind_changes_the_plan() -> None:
    @planned_agent(description="the weather changes")
    class Weather:
        def __init__(self) -> None:
            self.sunny = True

        @condition
        def dry(self) -> bool:
            return self.sunny

        @action
        def pack(self, user_input: UserInput) -> Draft:
            self.sunny = False
            return Draft("bag")

        @action(pre=["dry"])
        def walk(self, draft: Draft) -> Review:
            raise AssertionError("it rains")

        @action(cost=1.0)
        def ride(self, draft: Draft) -> Review:
            return Review(ok=True)

        @achieves_goal("there")
        @action
        def arrive(self, review: Review) -> Book:
            return Book("there")

    assert steps(await started(Weather(), "go")) == ["pack", "ride", "arrive"]


@planned_agent(description="writes until it is good")
class Reviser:
    def __init__(self, wanted: int) -> None:
        self.wanted = wanted

    @action
    def write(self, user_input: UserInput) -> Draft:
        return Draft("")

    @action(can_rerun=True)
    def revise(self, draft: Draft) -> Draft | None:
        return Draft(draft.text + "!")

    @condition
    def good(self, draft: Draft) -> bool:
        return len(draft.text) >= self.wanted

    @achieves_goal("published")
    @action(pre=["good"])
    def publish(self, draft: Draft) -> Book:
        return Book(draft.text)


async def test_a_condition_about_an_object_is_hoped_for_before_the_object_is_there() -> None:
    assert steps(await started(Reviser(0), "go")) == ["write", "publish"]


async def test_a_rerunnable_action_is_repeated_until_the_condition_holds() -> None:
    process = await started(Reviser(3), "go")
    assert steps(process) == ["write", "revise", "revise", "revise", "publish"]
    assert process.result == Book("!!!")
    assert process.blackboard.all(Draft) == [Draft("!" * n) for n in range(4)]


async def test_a_loop_that_never_ends_is_ended_by_the_budget() -> None:
    process = await started(Reviser(10**6), "go", options=ProcessOptions(budget=Budget(actions=7)))
    assert process.status is ProcessStatus.TERMINATED
    assert steps(process) == ["write", *["revise"] * 6]


async def test_an_action_that_cannot_rerun_runs_once() -> None:
    @planned_agent(description="revises once")
    class Once(Reviser):
        @action
        def revise(self, draft: Draft) -> Draft:
            return Draft(draft.text + "!")

    assert (await started(Once(1), "go")).result == Book("!")
    process = await started(Once(2), "go")
    assert process.status is ProcessStatus.STUCK
    assert steps(process) == ["write", "revise"]
    assert process.failure is not None
    assert "'good' is false, as 'write' has run already and 'revise' has run already" in process.failure


async def test_a_rerunnable_action_that_gives_nothing_is_not_repeated_at_once() -> None:
    @planned_agent(description="runs out of ideas")
    class Tired(Reviser):
        @action(can_rerun=True)
        def revise(self, draft: Draft) -> Draft | None:
            return Draft(draft.text + "!") if len(draft.text) < 2 else None

    process = await started(Tired(5), "go")
    assert process.status is ProcessStatus.STUCK
    assert steps(process) == ["write", "revise", "revise", "revise"]
    assert process.failure is not None
    assert "'revise' ran and gave nothing" in process.failure


async def test_a_rerunnable_action_that_gave_nothing_runs_again_after_another_one() -> None:
    @planned_agent(description="needs a rest")
    class Rested(Reviser):
        rested = False

        @action(can_rerun=True)
        def revise(self, draft: Draft) -> Draft | None:
            return Draft("!" * 9) if self.rested else None

        @action(cost=1.0)
        def rest(self, draft: Draft) -> Draft:
            self.rested = True
            return draft

    assert steps(await started(Rested(9), "go")) == ["write", "revise", "rest", "revise", "publish"]


async def test_a_post_condition_without_a_method_is_set_by_the_action() -> None:
    @planned_agent(description="ships what is paid")
    class Shop:
        @action(post=["paid"])
        async def charge(self, user_input: UserInput) -> None: ...

        @achieves_goal("shipped")
        @action(pre=["paid"], post=["shipped"])
        def ship(self, user_input: UserInput) -> Book:
            return Book("in a box")

    process = await started(Shop(), "buy")
    assert steps(process) == ["charge", "ship"]
    assert process.blackboard.condition("paid")
    assert process.blackboard.condition("shipped")


async def test_a_post_condition_with_a_method_is_what_the_method_says() -> None:
    @planned_agent(description="charges twice")
    class Shop:
        @condition
        def paid(self, blackboard: Blackboard) -> bool:
            return len(blackboard.all(Review)) >= 2

        @action(post=["paid"], can_rerun=True)
        def charge(self, user_input: UserInput) -> Review:
            return Review(ok=True)

        @achieves_goal("shipped")
        @action(pre=["paid"])
        def ship(self, user_input: UserInput) -> Book:
            return Book("in a box")

    assert steps(await started(Shop(), "buy")) == ["charge", "charge", "ship"]


async def test_a_condition_with_an_optional_argument_is_hoped_for_too() -> None:
    @planned_agent(description="waits for a review")
    class Waiting:
        @condition
        def reviewed(self, review: Review | None) -> bool:
            return review is not None

        @action
        def review(self, draft: Draft) -> Review:
            return Review(ok=True)

        @achieves_goal("published")
        @action(pre=["reviewed"])
        def publish(self, draft: Draft) -> Book:
            return Book(draft.text)

    assert steps(await started(Waiting(), Draft("x"))) == ["review", "publish"]


@pytest.mark.parametrize("names", ["paid", ["paid"]])
async def test_one_name_may_be_written_without_a_list(names: str | list[str]) -> None:
    @planned_agent(description="ships what is paid")
    class Shop:
        @action(post=names)
        def charge(self, user_input: UserInput) -> None: ...

        @achieves_goal("shipped")
        @action(pre=names)
        def ship(self, user_input: UserInput) -> Book:
            return Book("in a box")

    assert steps(await started(Shop(), "buy")) == ["charge", "ship"]


async def test_each_evaluation_has_a_key_which_is_the_same_when_its_step_is_repeated() -> None:
    keys: list[tuple[str, str]] = []

    @planned_agent(description="reviews and publishes")
    class Publisher:
        @condition
        async def finished(self, draft: Draft, context: OperationContext) -> bool:
            keys.append((context.idempotency_key, context.run.idempotency_key))
            return True

        @condition
        async def polite(self, draft: Draft, context: OperationContext) -> bool:
            keys.append((context.idempotency_key, context.run.idempotency_key))
            return True

        @action(pre=["finished", "polite"])
        def review(self, draft: Draft) -> Review:
            return Review(ok=True)

        @achieves_goal("published")
        @action(pre=["finished", "polite"])
        def publish(self, draft: Draft, review: Review) -> Book:
            return Book(draft.text)

    def platform() -> Platform:
        return Platform(models=ScriptedModel(), store=store).register(Publisher())

    async def evaluate() -> list[tuple[str, str]]:
        """Return the keys of what another program evaluates, which dies then."""
        keys.clear()
        await (await platform().process(process_id)).outlook()
        return sorted(keys)

    store = JsonStore()
    process_id = await platform().enqueue("Publisher", Draft("good"))
    first = await evaluate()
    assert await evaluate() == first
    assert len(set(first)) == 2

    await Stepper(platform()).step(process_id, 0.0)

    second = await evaluate()
    assert await evaluate() == second
    each = [key for pair in (*first, *second) for key in pair]
    assert len(set(each)) == 4, "one for each condition and step"
    assert all(process_id in key for key in each)
