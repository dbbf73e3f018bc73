"""A model that gives no valid object in an action: another way is looked for (the guide, 3.8.2)."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from tactician import Ai, Platform, ProcessStatus, UserInput, achieves_goal, action, ask_human, planned_agent
from tactician.errors import TransientError
from tactician.process import ActionRetryPolicy, AgentProcess
from tactician.runs import OutputError
from tactician.testing import ScriptedModel
from tests.agents.running import started, steps
from tests.support.stored import JsonStore, respond


@dataclass
class Draft:
    text: str


@dataclass
class Book:
    text: str


@planned_agent(description="has two ways")
class Author:
    @action
    async def draft(self, topic: UserInput, ai: Ai) -> Draft:
        return await ai.create(Draft, topic.content)

    @action(cost=0.5)
    def copy(self, topic: UserInput) -> Draft:
        return Draft("copied")

    @achieves_goal("published")
    @action
    def publish(self, draft: Draft) -> Book:
        return Book(draft.text)


def silly() -> ScriptedModel:
    return ScriptedModel("garbage", "{}", '{"text": 3}')


async def test_another_way_is_found() -> None:
    process = await started(Author(), "x", model=silly())
    assert process.result == Book("copied")
    assert steps(process) == ["draft", "copy", "publish"]
    assert process.history[0].error is not None
    assert process.history[0].error.startswith("OutputError: ")
    assert process.error is None


async def test_the_answer_may_be_missing_in_the_end_where_another_goal_is_reached() -> None:
    @planned_agent(description="has two goals")
    class Modest(Author):
        @action(cost=0.5, pre=["never"])
        def copy(self, topic: UserInput) -> Draft:
            raise AssertionError("it never runs")

        @action(post=["never"])
        def forget(self, book: Book) -> None: ...

        @achieves_goal("excused", value=-1)
        @action
        def excuse(self, topic: UserInput) -> str:
            return "sorry"

    process = await started(Modest(), "x", model=silly())
    assert process.result == "sorry"


@planned_agent(description="has one way, and help")
class Helped:
    @action
    async def draft(self, topic: UserInput, ai: Ai) -> Draft:
        return await ai.create(Draft, topic.content)

    @achieves_goal("published")
    @action
    def publish(self, draft: Draft) -> Book:
        return Book(draft.text)

    def handle_stuck(self, process: AgentProcess) -> bool:
        process.blackboard.add(Draft("from a friend"))
        return True


async def test_the_agent_may_help_first() -> None:
    assert (await started(Helped(), "x", model=silly())).result == Book("from a friend")


async def test_an_action_that_gives_no_object_is_not_done_either() -> None:
    @planned_agent(description="only checks")
    class Checking:
        @achieves_goal("checked")
        @action
        async def check(self, topic: UserInput, ai: Ai) -> None:
            await ai.create(Draft, topic.content)

    process = await started(Checking(), "x", model=silly())
    assert process.status is ProcessStatus.FAILED
    assert isinstance(process.error, OutputError)


async def test_one_that_is_stuck_later_says_what_was_not_valid() -> None:
    @planned_agent(description="gets only half of what it needs")
    class Half:
        @action
        async def draft(self, topic: UserInput, ai: Ai) -> Draft:
            return await ai.create(Draft, topic.content)

        @action
        def bind(self, topic: UserInput) -> Book:
            return Book("bound")

        @achieves_goal("sold")
        @action(pre=["expr: book.text == 'printed'"])
        def sell(self, draft: Draft | None, book: Book) -> str:
            return "sold"

        @achieves_goal("shown", value=1)
        @action
        def show(self, draft: Draft, book: Book) -> str:
            return "shown"

    process = await started(Half(), "x", model=silly())
    assert process.status is ProcessStatus.STUCK
    assert process.failure is not None
    assert "'draft' got no valid answer of a model" in process.failure


@planned_agent(description="has two ways, of which one asks")
class Asker:
    @action
    async def draft(self, topic: UserInput, ai: Ai) -> Draft:
        return await ai.create(Draft, topic.content)

    @action(cost=0.5)
    async def copy(self, topic: UserInput) -> Draft | None:
        await ask_human(bool, "Is there anything?")
        return None

    @achieves_goal("published")
    @action
    def publish(self, draft: Draft) -> Book:
        return Book(draft.text)


@pytest.mark.parametrize("restarts", [False, True])
async def test_the_process_fails_for_want_of_the_answer_also_after_a_restart(restarts: bool) -> None:
    store = JsonStore()
    platform = Platform(silly(), store=store).register(Asker())
    process = await platform.start("Asker", "x")
    assert process.status is ProcessStatus.WAITING
    if restarts:
        platform = Platform(ScriptedModel(), store=store).register(Asker())
    done = await respond(platform, await platform.process(process.id), False)
    assert done.status is ProcessStatus.FAILED
    assert isinstance(done.error, OutputError)
    assert "no valid Draft" in str(done.error)


async def test_attempts_that_failed_are_counted() -> None:
    @planned_agent(description="never manages")
    class Flaky:
        @achieves_goal("drafted")
        @action(retry=ActionRetryPolicy(attempts=3, delay=0))
        def draft(self, topic: UserInput) -> Draft:
            raise TransientError("busy")

    process = await started(Flaky(), "x")
    assert process.status is ProcessStatus.FAILED
    assert process.history[0].attempts == 3
