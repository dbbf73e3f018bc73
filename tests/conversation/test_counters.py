"""A counter of one's own says how long messages are, in the place of that of the run's model."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tactician import Agent
from tactician.conversation import Conversation, SlidingWindow, Summarization, WindowStrategy
from tactician.conversation.tokens import TokenCounter
from tactician.conversation.window_strategy import Chain
from tactician.llm import Message
from tactician.llm.messages import SystemMessage
from tactician.runs import RunContext
from tactician.testing import ScriptedModel
from tests.conversation.talk import Ones, says, user


class Letters:
    """Counts letters. It remembers messages, and is empty as long as there are none: as false as a `dict` then is."""

    def __init__(self) -> None:
        self.counted: list[Message] = []

    def __len__(self) -> int:
        return len(self.counted)

    def count(self, message: Message) -> int:
        self.counted.append(message)
        return len(getattr(message, "text", ""))


class Never:
    def count(self, message: Message) -> int:
        raise AssertionError("the run's counter is not asked")


def talk() -> Conversation:
    return Conversation([user("aaaa"), says("bbbb"), user("cc"), says("dd"), user("e")])


@pytest.fixture
def run() -> RunContext:
    return RunContext.over(ScriptedModel("short"))


async def test_a_sliding_window_goes_by_it(run: RunContext) -> None:
    letters = Letters()
    view = await SlidingWindow(8, counter=letters).start(run, Never()).view(talk())
    assert view == (user("aaaa"), says("dd"), user("e"))
    assert letters.counted == [*talk().messages]


async def test_a_summary_goes_by_it(run: RunContext) -> None:
    heading = "What was said and done before this, summed up:\n"
    limit = 4 + len(f"{heading}short") + 1
    conversation = Conversation([user("aaaa"), says("b" * 60), user("e")])
    strategy = Summarization(limit, keep_recent=1, counter=Letters())

    assert await strategy.start(run, Never()).view(conversation) == (user("aaaa"), user(f"{heading}short"), user("e"))


async def test_one_too_many_leaves_no_room_for_a_summary(run: RunContext) -> None:
    conversation = Conversation([user("aaaa"), says("b" * 60), user("e")])
    strategy = Summarization(20, keep_recent=1, counter=Letters())
    assert await strategy.start(run, Never()).view(conversation) == (user("aaaa"), user("e"))


@pytest.mark.parametrize("strategy", [SlidingWindow, lambda limit: Summarization(limit, keep_recent=1)])
async def test_without_one_that_of_the_run_is_asked(strategy: Callable[[int], WindowStrategy], run: RunContext) -> None:
    ones = Ones()
    assert await strategy(5).start(run, ones).view(talk()) == talk().messages
    assert ones.counted == 5


async def test_strategies_of_a_chain_have_their_own(run: RunContext) -> None:
    strategy = Chain((SlidingWindow(4), SlidingWindow(7, counter=Letters())))
    view = await strategy.start(run, Ones()).view(talk())
    assert view == (user("aaaa"), says("dd"), user("e"))


@pytest.mark.parametrize(("counter", "shown"), [(None, 3), (Letters(), 2)])
async def test_an_agent_shows_what_it_counts(counter: TokenCounter | None, shown: int) -> None:
    model = ScriptedModel("fine")
    agent = Agent("A", model=model, window=SlidingWindow(40, counter=counter))
    conversation = Conversation([user("a"), says("b" * 60)])

    await agent.run("c", conversation=conversation)

    said = [one for one in model.calls[0].messages if not isinstance(one, SystemMessage)]
    assert len(said) == shown
    assert said[-1] == user("c")
