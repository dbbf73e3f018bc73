"""Somebody rejects what an action asks: the action deals with it, or the plan does."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass

import pytest

from tactician import (
    OperationContext,
    Platform,
    ProcessOptions,
    ProcessStatus,
    UserInput,
    achieves_goal,
    action,
    approve,
    ask_human,
    confirm,
    planned_agent,
    reject,
)
from tactician.agents import PlannedAgent
from tactician.errors import Rejected, ResponseError
from tactician.process import ActionRetryPolicy, AgentProcess, Rejection
from tactician.stores import MemoryStore
from tactician.testing import ScriptedModel
from tests.support.stored import JsonStore, respond

Make = Callable[[], Platform]


@dataclass
class Title:
    text: str


@dataclass
class Printed:
    text: str


@planned_agent(description="prints, if somebody gives it a title")
class Printer:
    @action
    async def ask(self, topic: UserInput) -> Title:
        return Title(await ask_human(str, "A title?"))

    @achieves_goal("printed")
    @action
    def publish(self, title: Title) -> Printed:
        return Printed(title.text)


@planned_agent(description="has another way")
class Flexible(Printer):
    @action(cost=5)
    def invent(self, rejection: Rejection) -> Title:
        return Title(f"{rejection.action} {rejection.prompt} {rejection.reason}")


@planned_agent(description="deals with it itself")
class Patient:
    @achieves_goal("printed")
    @action
    async def publish(self, topic: UserInput) -> Printed:
        try:
            title = await ask_human(str, "A title?")
        except Rejected as rejected:
            title = f"untitled ({rejected.reason})"
        return Printed(f"{title}, {await ask_human(int, 'Copies?')}")


@planned_agent(description="asks for a yes")
class Careful:
    @achieves_goal("printed")
    @action
    async def publish(self, topic: UserInput) -> Printed:
        return Printed("yes" if await confirm(topic, "Print it?") else "no")


@pytest.fixture(params=["in memory", "in a store"])
def platform(request: pytest.FixtureRequest) -> Make:
    """Platforms that know the same processes: one, or several with one store."""
    store = MemoryStore() if request.param == "in a store" else None
    one = Platform(ScriptedModel())

    def make() -> Platform:
        made = one if store is None else Platform(ScriptedModel(), store=store)
        return made if made.agents else made.register(Printer(), Flexible(), Patient(), Careful())

    return make


async def answered(platform: Make, agent: str, *responses: object) -> AgentProcess:
    process = await platform().start(agent, "frogs")
    for response in responses:
        process = await respond(platform(), process, response)
    return process


async def test_without_another_way_the_process_is_stuck_and_says_why(platform: Make) -> None:
    process = await answered(platform, "Printer", reject("no thanks"))

    assert process.status is ProcessStatus.STUCK
    assert "'ask' ran and gave nothing: 'A title?' was rejected (no thanks)" in str(process.failure)
    assert process.last(Rejection) == Rejection("ask", "A title?", "no thanks")
    (run,) = process.history
    assert (run.outputs, run.error) == (("Rejection",), "Rejected: 'A title?' was rejected (no thanks)")


async def test_another_action_takes_the_rejection(platform: Make) -> None:
    process = await answered(platform, "Flexible", reject("no thanks"))

    assert process.result == Printed("ask A title? no thanks")
    assert [run.action for run in process.history] == ["ask", "invent", "publish"]


async def test_an_action_catches_it_and_it_is_kept_while_that_asks_again(platform: Make) -> None:
    process = await answered(platform, "Patient", reject("no idea"), 3)

    assert process.result == Printed("untitled (no idea), 3")
    assert process.last(Rejection) is None


@pytest.mark.parametrize(
    ("response", "text"), [(reject("why?"), "no"), (approve(), "yes"), (False, "no"), (True, "yes")]
)
async def test_a_decision_answers_a_confirmation(platform: Make, response: object, text: str) -> None:
    assert (await answered(platform, "Careful", response)).result == Printed(text)


async def test_an_approval_is_no_answer_to_a_form(platform: Make) -> None:
    process = await answered(platform, "Printer")

    with pytest.raises(
        ResponseError, match="the answer is not valid: it is approved, but the requested values are missing"
    ):
        await platform().respond(process.id, process.pending[0].id, approve())

    assert (await respond(platform(), process, "Frogs")).result == Printed("Frogs")


async def test_a_rejection_is_kept_as_json(platform: Make) -> None:
    """As by an engine that keeps the answer first, and takes the step later."""
    response = {"granted": False, "reason": "no", "arguments": None}

    assert (await answered(platform, "Flexible", response)).result == Printed("ask A title? no")


async def test_the_action_is_not_tried_again() -> None:
    process = await Platform(ScriptedModel()).start(
        Printer(), "frogs", options=ProcessOptions(retry=ActionRetryPolicy(attempts=3, delay=0, on=(Exception,)))
    )
    await process.respond(process.pending[0].id, reject())

    assert process.history[0].attempts == 1
    assert "'A title?' was rejected" in str(process.failure)


async def test_it_is_no_knowledge_for_the_next_process_of_a_context() -> None:
    platform = Platform(ScriptedModel()).register(Flexible())
    options = ProcessOptions(memory_id="c")
    process = await platform.start("Flexible", "frogs", options=options)
    await platform.respond(process.id, process.pending[0].id, reject("no"))
    assert process.status is ProcessStatus.COMPLETED

    again = await platform.start("Flexible", "frogs", options=options)

    assert again.last(Title) is not None
    assert again.last(Rejection) is None


async def test_an_action_may_raise_it_itself() -> None:
    @planned_agent(description="asks elsewhere")
    class Elsewhere:
        @action(cost=0.1)
        async def ask(self, topic: UserInput, context: OperationContext) -> Title:
            raise Rejected("A title?", "the form was closed")

        @action(cost=5)
        def invent(self, rejection: Rejection) -> Title:
            return Title(rejection.reason)

        @achieves_goal("printed")
        @action
        def publish(self, title: Title) -> Printed:
            return Printed(title.text)

    process = await Platform(ScriptedModel()).start(Elsewhere(), "frogs")

    assert process.result == Printed("the form was closed")


@planned_agent(description="has another one print, or prints blank pages")
class Publisher:
    def __init__(self, inner: object, *, is_run: bool = False, in_group: bool = False) -> None:
        self.inner = inner
        self.is_run = is_run
        self.in_group = in_group
        self.begun = 0

    @action(retry=ActionRetryPolicy(attempts=3, delay=0, on=(Exception,)))
    async def order(self, topic: UserInput, context: OperationContext) -> Title:
        self.begun += 1
        if self.is_run:
            result = await PlannedAgent(self.inner).run(topic, context=context.run)
            return Title(str(result.output))
        if self.in_group:
            async with asyncio.TaskGroup() as group:
                task = group.create_task(context.run_agent(self.inner, Printed, topic))
            return Title(task.result().text)
        return Title((await context.run_agent(self.inner, Printed, topic)).text)

    @action(cost=5)
    def take(self, topic: UserInput, rejection: Rejection | None = None) -> Title:
        return Title("none" if rejection is None else f"{rejection.action} {rejection.prompt} {rejection.reason}")

    @achieves_goal("printed")
    @action
    def publish(self, title: Title) -> Printed:
        return Printed(title.text)


@planned_agent(description="has another one print, and nothing else")
class Middleman:
    def __init__(self, inner: object) -> None:
        self.inner = inner

    @achieves_goal("printed")
    @action
    async def pass_on(self, topic: UserInput, context: OperationContext) -> Printed:
        return await context.run_agent(self.inner, Printed, topic)


async def rejected_inside(publisher: Publisher, *, stored: bool = False) -> AgentProcess:
    store = JsonStore() if stored else None
    one = Platform(ScriptedModel(), store=store).register(publisher)
    process = await one.start("Publisher", "frogs")
    other = Platform(ScriptedModel(), store=store).register(publisher) if stored else one
    return await respond(other, process, reject("no thanks"))


class TestInsideAnotherProcess:
    @pytest.mark.parametrize("stored", [False, True])
    @pytest.mark.parametrize(
        "publisher",
        [
            lambda: Publisher(Printer()),
            lambda: Publisher(Printer(), is_run=True),
            lambda: Publisher(Printer(), in_group=True),
            lambda: Publisher(Middleman(Printer())),
        ],
        ids=["run_agent", "run", "in a group", "two levels"],
    )
    async def test_the_action_around_it_is_rejected_and_there_is_another_way(
        self, publisher: Callable[[], Publisher], stored: bool
    ) -> None:
        asker = publisher()
        process = await rejected_inside(asker, stored=stored)

        assert process.result == Printed("order A title? no thanks")
        assert process.history[0].error == "Rejected: 'A title?' was rejected (no thanks)"
        assert process.history[0].children[0].status is ProcessStatus.STUCK
        assert asker.begun == 2, "once to ask and once to hear: a rejection is not tried again"

    async def test_one_that_goes_on_by_itself_concerns_nobody(self) -> None:
        process = await rejected_inside(Publisher(Flexible()))

        assert process.result == Printed("ask A title? no thanks")
        assert [run.action for run in process.history] == ["order", "publish"]

    async def test_without_another_way_the_outermost_is_stuck(self) -> None:
        platform = Platform(ScriptedModel())
        process = await platform.start(Middleman(Printer()), "frogs")
        await platform.respond(process.id, process.pending[0].id, reject("no"))

        assert process.status is ProcessStatus.STUCK
        assert "'pass_on' ran and gave nothing: 'A title?' was rejected (no)" in str(process.failure)

    async def test_one_that_is_stuck_because_of_something_else_fails_the_action(self) -> None:
        @planned_agent(description="lacks more than what was rejected")
        class Lacking:
            @action
            async def ask(self, topic: UserInput) -> Title | None:
                try:
                    return Title(await ask_human(str, "A title?"))
                except Rejected:
                    return None

            @achieves_goal("printed")
            @action
            def publish(self, title: Title) -> Printed:
                return Printed(title.text)

        platform = Platform(ScriptedModel())
        process = await platform.start(Middleman(Lacking()), "frogs")
        await platform.respond(process.id, process.pending[0].id, reject("no"))

        assert process.status is ProcessStatus.FAILED
        assert "ProcessStuckError: Lacking is stuck" in str(process.failure)
