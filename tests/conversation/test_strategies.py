"""What holds for every strategy: providers take what it shows, the conversation stays, a turn costs what is new."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tactician.conversation import (
    CompactToolResults,
    Conversation,
    MessageWindow,
    SlidingWindow,
    Summarization,
    WindowStrategy,
    chain,
)
from tactician.conversation.conversation import Messages
from tactician.conversation.tokens import ESTIMATE, TokenCounter
from tactician.conversation.window_strategy import Chain
from tactician.errors import DeclarationError, ModelServerError
from tactician.llm import AssistantMessage, Features, Message, ModelRequest, ModelResponse, Text, UserMessage
from tactician.llm.model import Delta
from tactician.runs import RunContext
from tests.conversation.talk import Ones, calls, completed, conversations, exchange, result, says, user
from tests.support.validity import check_sent, check_valid


class Scribe:
    """A model that sums up, and fails every third time."""

    name = "scribe"
    features = Features()

    def __init__(self) -> None:
        self.asked = 0

    async def generate(self, request: ModelRequest) -> ModelResponse:
        self.asked += 1
        if self.asked % 3 == 0:
            raise ModelServerError("out of ink")
        return ModelResponse(AssistantMessage((Text("so it was " * self.asked),)))

    def stream(self, request: ModelRequest) -> AsyncIterator[Delta | ModelResponse]:
        raise NotImplementedError


def started(strategy: WindowStrategy, counter: TokenCounter = ESTIMATE) -> MessageWindow:
    return strategy.start(RunContext.over(Scribe()), counter)


limits = st.integers(1, 600)
slidings = st.builds(SlidingWindow, limits, st.booleans())
compactions = st.builds(CompactToolResults, after=st.integers(0, 6), keep_last=st.integers(1, 3))
summarizations = st.builds(Summarization, limits, st.integers(1, 6))
one_of_them = st.one_of(slidings, compactions, summarizations)
strategies = st.one_of(
    one_of_them,
    st.builds(lambda a, b: a | b, compactions, slidings),
    st.builds(lambda a, b: a | b, compactions, summarizations),
    st.lists(one_of_them, min_size=2, max_size=3).map(lambda several: Chain(tuple(several))),
)


@given(strategies, conversations())
def test_no_provider_refuses_what_is_shown(strategy: WindowStrategy, messages: list[Message]) -> None:
    async def check() -> None:
        window, conversation = started(strategy), Conversation()
        for message in messages:
            conversation.append(message)
            view = tuple(await window.view(conversation))
            shown = completed(view, conversation)
            check_valid(shown)
            check_sent((*shown, user("go on")))
            assert conversation.messages == messages[: len(conversation)]
            asked = next((one for one in conversation.messages if isinstance(one, UserMessage)), None)
            assert asked is None or asked in view
            assert view[-1] == message

    asyncio.run(check())


@given(st.one_of(slidings, st.builds(lambda a, b: a | b, compactions, slidings)), conversations(), st.data())
def test_a_window_shows_what_a_new_one_would_show(
    strategy: WindowStrategy, messages: list[Message], data: st.DataObject
) -> None:
    async def check() -> None:
        window, conversation, turn = started(strategy), Conversation(), 0
        for message in messages:
            conversation.append(message)
            _changed(conversation, data)
            view, turn = await window.view(conversation), turn + 1
            fresh = started(strategy)
            for _ in range(turn - 1):
                await fresh.view(Conversation())
            assert tuple(view) == tuple(await fresh.view(conversation))

    asyncio.run(check())


def _changed(conversation: Conversation, data: st.DataObject) -> None:
    kind = data.draw(st.sampled_from(["nothing", "nothing", "insert", "remove", "truncate", "rewind"]))
    if kind == "insert":
        conversation.insert(user("by the way"))
    elif kind == "remove" and len(conversation):
        conversation.remove(data.draw(st.sampled_from(conversation.ids)))
    elif kind == "truncate":
        conversation.truncate(data.draw(st.integers(1, 6)))
    elif kind == "rewind" and not conversation.open_calls:
        conversation.rewind(max(1, len(conversation) - 2))
        while conversation.open_calls:
            conversation.rewind(len(conversation) - 1)


@given(summarizations, conversations(), st.data())
def test_what_is_summed_up_may_change(strategy: Summarization, messages: list[Message], data: st.DataObject) -> None:
    async def check() -> None:
        window, conversation = started(strategy), Conversation()
        for message in messages:
            conversation.append(message)
            _changed(conversation, data)
            shown = completed(await window.view(conversation), conversation)
            check_valid(shown, begins_with_user=False)

    asyncio.run(check())


@pytest.mark.parametrize(
    "strategy",
    [
        SlidingWindow(50),
        SlidingWindow(10_000_000),
        CompactToolResults(after=1) | SlidingWindow(50),
        CompactToolResults(after=1, keep_last=3) | SlidingWindow(10_000_000),
        Summarization(10_000_000),
    ],
    ids=str,
)
async def test_a_turn_counts_only_what_is_new(strategy: WindowStrategy) -> None:
    counter = Ones()
    window, conversation = started(strategy, counter), Conversation([user("go")])
    counted: list[int] = []
    for turn in range(200):
        before = counter.counted
        await window.view(conversation)
        counted.append(counter.counted - before)
        conversation.extend(exchange(f"a{turn}", f"b{turn}"))

    assert max(counted[20:]) == counted[20] <= 50 + 3


@pytest.mark.parametrize("strategy", [SlidingWindow(10), CompactToolResults(after=5), Summarization(10)], ids=str)
async def test_what_fits_is_shown_without_a_copy(strategy: WindowStrategy) -> None:
    conversation = Conversation([user("hi"), says("hello")])
    view = await started(strategy, Ones()).view(conversation)
    assert isinstance(view, Messages)
    assert view.conversation is conversation


async def test_one_strategy_serves_many_runs_that_share_nothing() -> None:
    strategy = CompactToolResults(after=2) | SlidingWindow(4)
    one, other = started(strategy, Ones()), started(strategy, Ones())
    long, short = Conversation([user("a"), *exchange("x"), *exchange("y")]), Conversation([user("b")])

    assert await one.view(long) == (user("a"), *exchange("y"))
    assert tuple(await other.view(short)) == (user("b"),)
    assert await one.view(long) == (user("a"), *exchange("y"))


async def test_a_window_can_be_given_another_conversation() -> None:
    window = started(CompactToolResults(after=1) | SlidingWindow(3), Ones())
    await window.view(Conversation([user("a"), says("b"), user("c")]))

    assert tuple(await window.view(Conversation([user("x"), *exchange("y")]))) == (user("x"), *exchange("y"))


class TestChains:
    async def test_each_is_given_what_the_one_before_shows(self) -> None:
        talk = Conversation([user("go"), *exchange("a", content="x" * 400), *exchange("b", content="y" * 40)])
        compact, slide = CompactToolResults(after=1), SlidingWindow(90)

        assert len(await started(slide).view(talk)) == 3
        assert await started(compact | slide).view(talk) == [
            user("go"), calls("a"), result("a", "[compacted]"), *exchange("b", content="y" * 40),
        ]  # fmt: skip

    async def test_it_follows_what_a_strategy_of_somebody_else_shows(self) -> None:
        class Last:
            async def view(self, conversation: Conversation) -> Sequence[Message]:
                return [user("so far ..."), *conversation.messages[-self.count :]]

            def __init__(self, count: int) -> None:
                self.count = count

        class ShowLast(WindowStrategy):
            def start(self, run: RunContext, counter: TokenCounter) -> MessageWindow:
                return Last(4)

        window = started(ShowLast() | SlidingWindow(3), Ones())
        talk = Conversation([user("a"), says("b"), user("c"), says("d"), user("e")])

        assert await window.view(talk) == (user("so far ..."), says("d"), user("e"))
        talk.append(says("f"))
        assert await window.view(talk) == (user("so far ..."), user("e"), says("f"))
        talk.truncate(1)
        assert tuple(await window.view(talk)) == (user("so far ..."), user("e"), says("f"))

    def test_chain_leaves_out_what_is_not_needed(self) -> None:
        one, other = SlidingWindow(5), CompactToolResults(after=3)
        assert chain() is None
        assert chain(one) is one
        assert chain(other, one) == Chain((other, one)) == other | one

    def test_a_chain_of_nothing_is_a_mistake(self) -> None:
        with pytest.raises(DeclarationError, match="strategies is empty"):
            Chain(())
