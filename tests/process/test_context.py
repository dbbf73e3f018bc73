"""What an action can reach: several items at once, and messages to the people outside."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

import pytest

from tactician import (
    Agent,
    OperationContext,
    Platform,
    ProcessStatus,
    UserInput,
    achieves_goal,
    action,
    ask_human,
    planned_agent,
)
from tactician.errors import ConfigurationError, TransientError
from tactician.events import Event
from tactician.llm import AssistantMessage, Text
from tactician.process import ActionCompleted, ActionRetryPolicy, ActionStarted, MessageSent
from tactician.runs import RunSuspended
from tactician.stores import MemoryStore
from tactician.testing import FakeContext, ScriptedModel
from tests.agents.running import started
from tests.support.stored import JsonStore, respond


@dataclass
class Titles:
    text: str


@dataclass
class Title:
    text: str


class TestParallelMap:
    async def test_results_come_in_the_order_of_the_items(self) -> None:
        first_is_done = asyncio.Event()

        async def double(number: int) -> int:
            if number == 1:
                await first_is_done.wait()
            else:
                first_is_done.set()
            return number * 2

        assert await FakeContext().parallel_map([1, 2], double) == [2, 4]

    async def test_never_more_at_once_than_allowed(self) -> None:
        at_once, most = 0, 0

        async def work(number: int) -> int:
            nonlocal at_once, most
            at_once += 1
            most = max(most, at_once)
            for _ in range(3):
                await asyncio.sleep(0)
            at_once -= 1
            return number

        context = FakeContext()
        assert await context.parallel_map(range(10), work, max_concurrency=3) == list(range(10))
        assert most == 3
        most = 0
        await context.parallel_map(range(10), work)
        assert most == 4

    async def test_of_nothing_is_nothing(self) -> None:
        async def work(number: int) -> int:
            return number

        assert await FakeContext().parallel_map([], work) == []

    async def test_a_limit_has_to_allow_something(self) -> None:
        async def work(number: int) -> int:
            return number

        with pytest.raises(ConfigurationError, match="max_concurrency is 0; it must be at least 1"):
            await FakeContext().parallel_map([1], work, max_concurrency=0)

    async def test_one_that_fails_cancels_the_others(self) -> None:
        cancelled = False

        async def work(number: int) -> int:
            nonlocal cancelled
            if number == 2:
                raise LookupError("two")
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                cancelled = True
                raise
            return number

        with pytest.raises(LookupError, match="two"):
            await FakeContext().parallel_map([1, 2], work)
        assert cancelled

    async def test_models_that_items_ask_are_counted_for_the_action(self) -> None:
        context = FakeContext(ScriptedModel("a", "b"))

        async def ask(word: str) -> str:
            return await context.ai.generate_text(word)

        assert sorted(await context.parallel_map("xy", ask)) == ["a", "b"]
        assert context.run.tally.total.requests == 2

    async def test_items_may_have_items(self) -> None:
        context = FakeContext()

        async def letters(word: str) -> str:
            async def louder(letter: str) -> str:
                return letter.upper()

            return "".join(await context.parallel_map(word, louder))

        assert await context.parallel_map(["ab", "cd"], letters) == ["AB", "CD"]


@planned_agent(description="translates titles")
class Translator:
    """Asks a person about each title, then a model, whichever answer comes first."""

    @achieves_goal("all translated")
    @action
    async def translate(self, titles: UserInput, context: OperationContext) -> Titles:
        async def one(title: str) -> str:
            tone = await ask_human(str, f"The tone of {title}?")
            return await context.ai.generate_text(f"{title}, {tone}")

        return Titles(", ".join(await context.parallel_map(titles.content.split(), one)))


class TestParallelMapAndPeople:
    async def test_all_questions_are_asked_together_and_answered_in_any_order(self) -> None:
        store, model = JsonStore(), ScriptedModel()
        for title, tone in (("Frogs", "gay"), ("Hares", "sad")):
            model.when(prompt_contains=f"{title}, {tone}").reply(f"{tone} {title}")

        def somewhere() -> Platform:
            return Platform(model, store=store).register(Translator())

        process = await somewhere().start("Translator", "Frogs Hares")
        first, second = process.pending
        assert (first.prompt, second.prompt) == ("The tone of Frogs?", "The tone of Hares?")
        process = await respond(somewhere(), process, "sad", 1)
        assert process.status is ProcessStatus.WAITING
        assert [one.id for one in process.pending] == [first.id]
        process = await respond(somewhere(), process, "gay")
        assert process.result == Titles("gay Frogs, sad Hares")
        assert len(model.calls) == 2, "what was said about the second is not asked again"


@planned_agent(description="tells how it goes on")
class Teller:
    @achieves_goal("told")
    @action
    async def tell(self, topic: UserInput, context: OperationContext) -> Title:
        context.send(f"I begin with {topic.content}.")
        title = await ask_human(str, "A title?")
        context.send(AssistantMessage((Text(f"So it is {title}."),)))
        return Title(title)


@planned_agent(description="fails at first, after it has talked to somebody")
class Flaky:
    def __init__(self) -> None:
        self.failures = [TransientError("busy")]

    @achieves_goal("told")
    @action(retry=ActionRetryPolicy(attempts=2, delay=0))
    async def tell(self, topic: UserInput, context: OperationContext) -> Title:
        async def ask(word: str) -> str:
            return await ask_human(str, f"What of {word}?")

        context.send("I begin.")
        both = await context.parallel_map(topic.content.split(), ask)
        said = await context.run_agent(Agent("Pen"), str, "Write")
        if self.failures:
            raise self.failures.pop()
        return Title(f"{await ask_human(str, 'A title?')}: {said} {both}")


class TestAnotherAttempt:
    async def test_people_are_not_asked_or_told_again_but_agents_are_run_again(self) -> None:
        store, events, model, agent = JsonStore(), list[Event](), ScriptedModel("first", "second"), Flaky()

        def somewhere() -> Platform:
            return Platform(model, store=store, on_event=events.append).register(agent)

        process = await somewhere().start("Flaky", "frogs hares")
        asked: list[str] = []
        for answer in ("hop", "run", "A and B"):
            asked += [request.prompt for request in process.pending]
            process = await respond(somewhere(), process, answer)
        assert process.result == Title("A and B: second ['hop', 'run']"), process.failure
        assert asked == ["What of frogs?", "What of hares?", "What of hares?", "A title?"]
        assert len([event for event in events if isinstance(event, MessageSent)]) == 1


class TestSend:
    async def test_listeners_hear_of_messages_and_the_action_goes_on(self) -> None:
        events: list[Event] = []
        process = await started(Teller(), "frogs", on_event=events.append)
        await process.respond(process.pending[0].id, "Hop")
        kinds = (ActionStarted, MessageSent, RunSuspended, ActionCompleted)
        assert [type(event) for event in events if isinstance(event, kinds)] == [
            ActionStarted,
            MessageSent,
            RunSuspended,
            MessageSent,
            ActionCompleted,
        ], "the first message is not sent again when the action is run again"
        told = [event for event in events if isinstance(event, MessageSent)]
        assert [event.message.text for event in told] == ["I begin with frogs.", "So it is Hop."]
        assert {event.path for event in told} == {("Teller", "tell")}

    async def test_it_is_not_sent_again_elsewhere_either(self) -> None:
        store, events = MemoryStore(), list[Event]()

        def somewhere() -> Platform:
            return Platform(ScriptedModel(), store=store, on_event=events.append).register(Teller())

        process = await somewhere().start("Teller", "frogs")
        await somewhere().respond(process.id, process.pending[0].id, "Hop")
        assert len([event for event in events if isinstance(event, MessageSent)]) == 2

    async def test_when_nobody_listens_nothing_happens(self) -> None:
        FakeContext().send("hello")
