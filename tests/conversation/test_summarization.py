"""The oldest messages are summed up by a model, which is asked seldom and may fail."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import replace

import pytest

from tactician.clock import SYSTEM_CLOCK
from tactician.conversation import Conversation, ConversationSummarized, MessageWindow, Summarization
from tactician.conversation.conversation import Messages
from tactician.errors import DeclarationError, ModelServerError
from tactician.events import Event
from tactician.llm import (
    AssistantMessage,
    Document,
    Features,
    LanguageModel,
    LlmOptions,
    Message,
    ModelRequest,
    ModelResponse,
    Text,
    ToolResult,
    UserMessage,
)
from tactician.llm.messages import SystemMessage
from tactician.llm.model import Delta
from tactician.runs import Budget, ModelReturned, RunContext
from tactician.runs.outcomes.budget import BudgetMeter
from tactician.testing import ScriptedModel
from tests.conversation.talk import PIXEL, Ones, calls, exchange, result, says, user

SYSTEM = SystemMessage("be kind")
NOTE = user("(The earlier conversation is left out: it was too long.)")


def summed(text: str) -> UserMessage:
    return user(f"What was said and done before this, summed up:\n{text}")


def window_of(strategy: Summarization, model: LanguageModel, run: RunContext | None = None) -> MessageWindow:
    return strategy.start(run or RunContext.over(model), Ones())


def talk(*texts: str) -> Conversation:
    """The user and the model in turns."""
    return Conversation(user(text) if n % 2 == 0 else says(text) for n, text in enumerate(texts))


class TestSummaries:
    async def test_what_fits_is_shown_and_no_model_asked(self) -> None:
        conversation = talk("a", "b", "c")
        view = await window_of(Summarization(3), ScriptedModel()).view(conversation)
        assert isinstance(view, Messages)
        assert view.conversation is conversation

    async def test_the_oldest_are_summed_up_after_the_first_request(self) -> None:
        model = ScriptedModel("greetings")
        conversation = Conversation([SYSTEM, *talk("a", "b", "c", "d", "e").messages])

        view = await window_of(Summarization(5, keep_recent=2), model).view(conversation)

        assert view == (SYSTEM, user("a"), summed("greetings"), says("d"), user("e"))
        assert "Assistant: b\n\nUser: c\n" in model.calls[0].prompt
        assert "User: a" not in model.calls[0].prompt
        assert conversation.messages[1:4] == [user("a"), says("b"), user("c")]

    async def test_the_summary_grows_by_what_became_too_much(self) -> None:
        model = ScriptedModel("first", "second")
        conversation = talk("a", "b", "c", "d", "e")
        window = window_of(Summarization(4, keep_recent=1), model)
        await window.view(conversation)

        conversation.append(says("f"))
        assert await window.view(conversation) == (user("a"), summed("first"), user("e"), says("f"))
        conversation.append(user("g"))
        assert await window.view(conversation) == (user("a"), summed("second"), user("g"))

        assert "Summary of what was said before:\nfirst\n" in model.calls[1].prompt
        assert "User: e\n\nAssistant: f\n</conversation>" in model.calls[1].prompt
        model.assert_exhausted()

    async def test_calls_and_results_stay_together(self) -> None:
        conversation = Conversation([user("a"), *exchange("x"), *exchange("y", "z")])

        view = await window_of(Summarization(5, keep_recent=1), ScriptedModel("looked")).view(conversation)

        assert view == (user("a"), summed("looked"), *exchange("y", "z"))

    async def test_it_is_told_everything_in_words(self) -> None:
        model = ScriptedModel("summary")
        conversation = Conversation(
            [
                user("a"),
                SYSTEM,
                UserMessage((Text("see"), PIXEL, Document(url="https://example.org/a.pdf", name="a.pdf"))),
                calls("x", "y", text="let me see"),
                result("x", "1" * 2500 + "2" * 2500),
                ToolResult("y", "look", "gone", is_error=True),
                user("and?"),
            ]
        )

        await window_of(Summarization(4, keep_recent=1), model).view(conversation)

        told = model.calls[0].prompt
        assert "System: be kind\n\nUser: see [picture] [document a.pdf]\n\nAssistant: let me see\n" in told
        assert 'Assistant calls look({"x":1})\nAssistant calls look({"x":1})\n\nResult of look: 111' in told
        assert "1 [...] 2" in told
        assert "Error of look: gone\n</conversation>\n\nSum all of it up in at most 20 words." in told
        assert len(told) < 4500

    async def test_prompt_and_model_are_as_told(self) -> None:
        model, asked = ScriptedModel("summary"), list[str | None]()

        class Source:
            def resolve(self, options: LlmOptions) -> LanguageModel:
                asked.append(options.model)
                return model

        strategy = Summarization(3, keep_recent=1, model="small", prompt="In verse!")
        await window_of(strategy, model, RunContext.over(Source())).view(talk("a", "b", "c", "d"))

        assert asked == ["small"]
        assert model.calls[0].messages[0] == SystemMessage("In verse!")

    async def test_its_tokens_are_the_runs(self) -> None:
        run = RunContext.over(ScriptedModel("summary"))
        await window_of(Summarization(3, keep_recent=1), ScriptedModel(), run).view(talk("a", "b", "c", "d"))
        assert run.tally.total.total_tokens == 15

    async def test_a_very_long_beginning_is_summed_up_in_portions(self) -> None:
        model = ScriptedModel("one", "two", "three")
        conversation = talk(*(f"m{n}" for n in range(16)))
        window = window_of(Summarization(4, keep_recent=1), model)

        assert await window.view(conversation) == (user("m0"), says("m13"), user("m14"), says("m15"))
        assert await window.view(conversation) == (user("m0"), summed("two"), says("m15"))
        assert await window.view(conversation) == (user("m0"), summed("two"), says("m15"))
        assert len(model.calls) == 2
        assert "m7" in model.calls[0].prompt
        assert "m8" not in model.calls[0].prompt


class TestChanges:
    async def test_what_is_removed_is_in_no_summary(self) -> None:
        model = ScriptedModel("b is 7", "nothing")
        conversation = talk("a", "b", "c", "d", "e")
        window = window_of(Summarization(3, keep_recent=1), model)
        await window.view(conversation)

        conversation.remove(conversation.ids[1])
        assert await window.view(conversation) == (user("a"), summed("nothing"), user("e"))
        assert "b is 7" not in model.calls[1].prompt

    async def test_what_changes_after_the_summary_leaves_it(self) -> None:
        conversation = talk("a", "b", "c", "d", "e")
        window = window_of(Summarization(4, keep_recent=2), ScriptedModel("first"))
        await window.view(conversation)

        conversation.rewind(4)
        conversation.append(user("E"))

        assert await window.view(conversation) == (user("a"), summed("first"), says("d"), user("E"))

    async def test_what_changes_while_it_is_summed_up_is_not_believed(self) -> None:
        conversation = talk("a", "b", "c", "d", "e")

        async def remove() -> str:
            conversation.remove(conversation.ids[1])
            return "b is 7"

        model = Answering(remove)
        window = window_of(Summarization(3, keep_recent=1), model)

        assert await window.view(conversation) == (user("a"), says("d"), user("e"))

    async def test_what_comes_while_it_is_summed_up_is_shown(self) -> None:
        conversation = talk("a", "b", "c", "d", "e")

        async def insert() -> str:
            conversation.insert(user("by the way"))
            return "so far"

        view = await window_of(Summarization(4, keep_recent=1), Answering(insert)).view(conversation)

        assert view == (user("a"), summed("so far"), user("e"), user("by the way"))


class TestNoRoom:
    async def test_newest_messages_that_leave_no_room_are_shown_alone(self) -> None:
        model = ScriptedModel()
        view = await window_of(Summarization(3, keep_recent=5), model).view(talk(*"abcdef"))
        assert view == (user("a"), user("e"), says("f"))
        assert model.calls == []

    async def test_when_there_is_nothing_to_sum_up_no_model_is_asked(self) -> None:
        model = ScriptedModel()
        conversation = Conversation([SYSTEM, user("a"), says("b"), user("c")])
        assert await window_of(Summarization(3, keep_recent=2), model).view(conversation) == (
            SYSTEM, user("a"), user("c"),
        )  # fmt: skip
        assert model.calls == []

    async def test_a_summary_that_is_too_long_is_not_shown(self) -> None:
        class Lengthy(Ones):
            def count(self, message: Message) -> int:
                return 90 if isinstance(message, UserMessage) and "summed up" in message.text else 1

        strategy = Summarization(3, keep_recent=1)
        window = strategy.start(RunContext.over(ScriptedModel("long", "longer")), Lengthy())

        assert await window.view(talk(*"abcde")) == (user("a"), says("d"), user("e"))


class Answering:
    """A model that does something and answers."""

    name = "answering"
    features = Features()

    def __init__(self, act: Callable[[], Awaitable[str]]) -> None:
        self._act = act

    async def generate(self, request: ModelRequest) -> ModelResponse:
        return ModelResponse(AssistantMessage((Text(await self._act()),)))

    def stream(self, request: ModelRequest) -> AsyncIterator[Delta | ModelResponse]:
        raise NotImplementedError


class TestFailures:
    @pytest.mark.parametrize("answer", [ModelServerError("on fire"), KeyError("a bug"), " "], ids=str)
    async def test_when_the_model_fails_the_newest_are_shown_with_a_note(
        self, answer: object, caplog: pytest.LogCaptureFixture
    ) -> None:
        window = window_of(Summarization(4, keep_recent=1), ScriptedModel(answer, "at last"))
        conversation = talk(*"abcde")

        with caplog.at_level(logging.WARNING, "tactician.conversation"):
            assert await window.view(conversation) == (user("a"), NOTE, says("d"), user("e"))

        assert "could not be summed up" in caplog.text
        assert await window.view(conversation) == (user("a"), summed("at last"), user("e"))

    async def test_cancelling_passes_through(self) -> None:
        begun = asyncio.Event()

        async def wait() -> str:
            begun.set()
            await asyncio.Event().wait()
            return ""

        conversation = talk(*"abcde")
        view = window_of(Summarization(3, keep_recent=1), Answering(wait)).view(conversation)
        task = asyncio.ensure_future(_awaited(view))
        await begun.wait()
        task.cancel()

        with pytest.raises(asyncio.CancelledError):
            await task
        assert len(conversation) == 5

    async def test_a_used_up_budget_is_not_overspent(self) -> None:
        model = ScriptedModel("summary")
        plain = RunContext.over(model)
        meter = BudgetMeter(Budget(turns=1), plain.tally, SYSTEM_CLOCK)
        run = replace(plain, meter=meter)
        window, conversation = window_of(Summarization(4, keep_recent=1), model, run), talk(*"abcde")

        assert await window.view(conversation) == (user("a"), summed("summary"), user("e"))
        conversation.extend(talk(*"fghi").messages)
        assert await window.view(conversation) == (user("a"), NOTE, user("h"), says("i"))
        assert (len(model.calls), meter.turns) == (1, 1)

    async def test_listeners_hear_of_it(self) -> None:
        heard: list[Event] = []
        run = RunContext.over(ScriptedModel("summary", ModelServerError("on fire")), heard.append)
        window, conversation = window_of(Summarization(3, keep_recent=1), ScriptedModel(), run), talk(*"abcde")
        await window.view(conversation)
        conversation.extend(talk(*"fg").messages)
        await window.view(conversation)

        assert [event for event in heard if isinstance(event, ConversationSummarized)] == [
            ConversationSummarized(run_id=run.run_id, messages=3, summary="summary"),
            ConversationSummarized(run_id=run.run_id, messages=2, error="ModelServerError: on fire"),
        ]
        returned = [event for event in heard if isinstance(event, ModelReturned)]
        assert [(event.operation, event.usage.total_tokens, event.error) for event in returned] == [
            ("summary", 15, None),
            ("summary", 0, "ModelServerError: on fire"),
        ]

    def test_numbers_have_to_be_positive(self) -> None:
        with pytest.raises(DeclarationError, match=r"max_tokens must .*\s+- keep_recent must be at least 1"):
            Summarization(0, keep_recent=0)


async def _awaited(view: Awaitable[object]) -> object:
    return await view
