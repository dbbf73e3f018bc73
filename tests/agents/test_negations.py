"""Conditions in `pre` that must not hold, that are unknown, or that are set from outside."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from tactician import (
    Ai,
    Blackboard,
    Platform,
    ProcessStatus,
    UserInput,
    achieves_goal,
    action,
    condition,
    planned_agent,
)
from tactician.agents import PlannedAgent
from tactician.errors import DeclarationError, Replan
from tactician.planning import UNKNOWN
from tactician.testing import ScriptedModel, ToolCall
from tests.agents.running import started, steps


@dataclass(frozen=True)
class Letter:
    text: str


@dataclass(frozen=True)
class Sent:
    text: str


@planned_agent(description="answers polite and rude letters")
class Answering:
    @condition
    async def polite(self, letter: UserInput, ai: Ai) -> bool:
        return await ai.evaluate_condition("it is polite", letter.content)

    @action(pre=["polite"])
    def thank(self, letter: UserInput) -> Letter:
        return Letter("thank you")

    @action(pre=["not polite"])
    def complain(self, letter: UserInput) -> Letter:
        return Letter("how rude")

    @achieves_goal("sent")
    @action
    def send(self, letter: Letter) -> Sent:
        return Sent(letter.text)


@pytest.mark.parametrize(("judgement", "text"), [("true", "thank you"), ("false", "how rude")])
async def test_a_condition_and_its_negation_are_found_out_together(judgement: str, text: str) -> None:
    model = ScriptedModel(judgement)

    assert (await started(Answering(), "hi", model=model)).result == Sent(text)
    assert len(model.calls) == 1


async def test_a_condition_without_a_valid_answer_of_a_model_is_unknown() -> None:
    process = await started(Answering(), "hi", model=ScriptedModel(*["maybe"] * 6))

    assert process.status is ProcessStatus.STUCK
    assert "'polite' is unknown and no action makes it true" in str(process.failure)
    assert "'not polite' is unknown" in str(process.failure)


async def test_observing_shows_what_is_unknown() -> None:
    process = await started(Answering(), "hi", model=ScriptedModel(*["maybe"] * 9))
    world = await process.observe()

    assert (world["polite"], world["not polite"]) == (UNKNOWN, UNKNOWN)


async def test_another_way_than_one_that_is_unknown_is_taken() -> None:
    @planned_agent(description="has a way for all letters")
    class Careful(Answering):
        @action(cost=0.9)
        def confirm(self, letter: UserInput) -> Letter:
            return Letter("we have your letter")

    process = await started(Careful(), "hi", model=ScriptedModel(*["maybe"] * 3))
    assert process.result == Sent("we have your letter")


@planned_agent(description="revises what is bad")
class Revising:
    @condition
    def bad(self, letter: Letter) -> bool:
        return len(letter.text) < 3

    @action
    def write(self, user_input: UserInput) -> Letter:
        return Letter(user_input.content)

    @action(can_rerun=True, pre=["bad"])
    def revise(self, letter: Letter) -> Letter:
        return Letter(letter.text + "!")

    @achieves_goal("sent")
    @action(pre=["not bad"])
    def send(self, letter: Letter) -> Sent:
        return Sent(letter.text)


@pytest.mark.parametrize(("text", "revisions"), [("abc", 0), ("ab", 1), ("a", 2)])
async def test_what_an_object_will_be_is_assumed_to_be_the_better_case(text: str, revisions: int) -> None:
    process = await started(Revising(), text)

    assert steps(process) == ["write", *["revise"] * revisions, "send"]


async def test_a_condition_that_an_action_sets() -> None:
    @planned_agent(description="closes the door first")
    class Door:
        @action(post=["open"])
        def knock(self, user_input: UserInput) -> None:
            raise AssertionError("then nothing could be sent")

        @achieves_goal("sent")
        @action(pre=["not open"])
        def send(self, user_input: UserInput) -> Sent:
            return Sent("x")

    assert (await started(Door(), "x")).result == Sent("x")


async def test_a_negation_that_does_not_hold_is_named() -> None:
    @planned_agent(description="never sends")
    class Shut:
        @condition
        def shut(self, user_input: UserInput) -> bool:
            return True

        @achieves_goal("sent")
        @action(pre=["not shut"])
        def send(self, user_input: UserInput) -> Sent:
            raise AssertionError("it is shut")

    assert "'not shut' is false and no action makes it true" in str((await started(Shut(), "x")).failure)


async def test_a_condition_that_is_set_from_outside_is_declared_as_the_message_says() -> None:
    @planned_agent(description="waits for a word")
    class Waiting:
        @condition
        def approved(self, blackboard: Blackboard) -> bool:
            return blackboard.condition("approved")

        @achieves_goal("sent")
        @action(pre=["approved"])
        def send(self, user_input: UserInput) -> Sent:
            return Sent("x")

    process = await started(Waiting(), "x")
    assert process.status is ProcessStatus.STUCK
    process.blackboard.set_condition("approved", True)
    assert (await process.run()).result == Sent("x")


def find_problems(agent: object) -> tuple[str, ...]:
    with pytest.raises(DeclarationError) as caught:
        PlannedAgent(agent)
    return caught.value.problems


def test_negations_that_make_no_sense() -> None:
    @planned_agent(description="d")
    class Wrong(Answering):
        @action(pre=["polite", "not polite", "not poltie"], post=["not paid"])
        def complain(self, letter: UserInput) -> Letter:
            return Letter("")

        @action(pre=["not expr: letter.text == ''"])
        def thank(self, letter: UserInput) -> Letter:
            return Letter("")

    problems = find_problems(Wrong())
    assert "complain: it can never run, as it needs 'polite' and 'not polite'" in problems
    assert "complain: no condition 'poltie'; did you mean 'polite'?" in problems
    assert "thank: \"not expr: letter.text == ''\" in `pre`: write 'expr: not (letter.text == '')'" in problems
    assert (
        "complain: 'not paid' in `post`: an action makes conditions true; to end a condition, call "
        "`blackboard.set_condition('paid', False)` in it"
    ) in problems


class TestReplanInTools:
    """A tool that finds out that another way is better says so by `Replan`, as an action does."""

    @planned_agent(description="looks a letter up")
    class LookUp:
        @action
        async def look_up(self, user_input: UserInput, ai: Ai) -> Letter:
            def find(name: str) -> str:
                """Find a letter."""
                raise Replan("the archive is closed")

            return await ai.with_tools(find).create(Letter, "x")

        @action(cost=0.9)
        def write(self, user_input: UserInput) -> Letter:
            return Letter("written")

        @achieves_goal("sent")
        @action
        def send(self, letter: Letter) -> Sent:
            return Sent(letter.text)

    @pytest.mark.parametrize("calls", [1, 3])
    async def test_the_process_plans_again(self, calls: int) -> None:
        asked = [ToolCall("find", name=str(number)) for number in range(calls)]
        process = await Platform(ScriptedModel(asked)).start(self.LookUp(), "x")

        assert process.result == Sent("written")
        assert steps(process) == ["look_up", "write", "send"]
        assert process.history[0].error == "Replan: the archive is closed"
