"""What the sliding window and compaction show, case by case."""

from __future__ import annotations

from collections.abc import Awaitable, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tactician.conversation import CompactToolResults, Conversation, SlidingWindow
from tactician.conversation.tokens import ESTIMATE, TokenCounter
from tactician.errors import DeclarationError
from tactician.llm import Message, ToolResult
from tactician.llm.messages import SystemMessage
from tactician.runs import RunContext
from tactician.testing import ScriptedModel
from tests.conversation.talk import Ones, calls, conversations, exchange, result, says, user

RUN = RunContext.over(ScriptedModel())
SYSTEM = SystemMessage("be kind")


async def compacted(view: Awaitable[Sequence[Message]]) -> list[Message]:
    return [one for one in await view if isinstance(one, ToolResult) and one.content == "[compacted]"]


async def slid(strategy: SlidingWindow, messages: list[Message], counter: TokenCounter | None = None) -> list[Message]:
    return [*await strategy.start(RUN, counter or Ones()).view(Conversation(messages))]


class TestSlidingWindow:
    async def test_what_fits_exactly_stays(self) -> None:
        talk: list[Message] = [SYSTEM, user("a"), says("b"), user("c")]
        assert await slid(SlidingWindow(4), talk) == talk

    async def test_the_oldest_go_except_instructions_and_the_first_request(self) -> None:
        talk: list[Message] = [SYSTEM, SYSTEM, user("a"), says("b"), user("c"), says("d"), user("e")]

        assert await slid(SlidingWindow(5), talk) == [SYSTEM, SYSTEM, user("a"), says("d"), user("e")]
        assert await slid(SlidingWindow(6), talk) == [SYSTEM, SYSTEM, user("a"), user("c"), says("d"), user("e")]

    async def test_instructions_may_go_too(self) -> None:
        talk: list[Message] = [SYSTEM, user("a"), says("b"), user("c"), says("d")]

        assert await slid(SlidingWindow(4, preserve_system=False), talk) == talk[1:]
        assert await slid(SlidingWindow(3, preserve_system=False), talk) == [user("a"), user("c"), says("d")]

    async def test_instructions_in_the_middle_go(self) -> None:
        talk: list[Message] = [user("a"), SYSTEM, says("b"), user("c")]
        assert await slid(SlidingWindow(3), talk) == [user("a"), says("b"), user("c")]

    async def test_calls_and_results_go_together(self) -> None:
        talk: list[Message] = [user("a"), *exchange("x", "y"), *exchange("z")]
        assert await slid(SlidingWindow(5), talk) == [user("a"), *exchange("z")]

    async def test_the_newest_stays_however_long_it_is(self) -> None:
        talk: list[Message] = [SYSTEM, user("a"), says("b"), *exchange("x", "y", "z")]
        assert await slid(SlidingWindow(1), talk) == [SYSTEM, user("a"), *exchange("x", "y", "z")]
        assert await slid(SlidingWindow(1), [SYSTEM, user("a")]) == [SYSTEM, user("a")]

    async def test_without_a_user_the_newest_stay(self) -> None:
        assert await slid(SlidingWindow(1), [SYSTEM, SYSTEM]) == [SYSTEM, SYSTEM]
        assert await slid(SlidingWindow(2), [SYSTEM, says("a"), says("b")]) == [SYSTEM, says("b")]
        assert await slid(SlidingWindow(1), []) == []

    async def test_a_greeting_goes_before_the_request(self) -> None:
        talk: list[Message] = [says("hello"), user("a"), says("b")]
        assert await slid(SlidingWindow(2), talk) == [user("a"), says("b")]

    async def test_results_that_are_given_anew_are_counted_anew(self) -> None:
        conversation = Conversation([user("a"), says("b"), calls("x"), result("x", "r" * 400)])
        window = SlidingWindow(100).start(RUN, ESTIMATE)
        assert len(await window.view(conversation)) == 3

        conversation.rewind(3)
        conversation.append(result("x", "r"))

        assert len(await window.view(conversation)) == 4

    @given(conversations(), st.integers(1, 600))
    async def test_it_is_as_long_as_it_may_be(self, messages: list[Message], limit: int) -> None:
        view = await slid(SlidingWindow(limit), messages, ESTIMATE)

        length = sum(map(ESTIMATE.count, view))
        newest = next(n for n in range(len(view) - 1, -1, -1) if not isinstance(view[n], ToolResult))
        head = next(n for n, one in enumerate(messages) if not isinstance(one, SystemMessage))
        assert length <= limit or newest <= head + 1
        left_out = [one for one in messages if not any(one is shown for shown in view)]
        if left_out:
            unit = [left_out.pop()]
            while left_out and isinstance(unit[0], ToolResult):
                unit.insert(0, left_out.pop())
            assert length + sum(map(ESTIMATE.count, unit)) > limit

    def test_there_has_to_be_room(self) -> None:
        with pytest.raises(DeclarationError, match="max_tokens must be at least 1"):
            SlidingWindow(0)


class TestCompaction:
    TALK = (user("go"), *exchange("a", "b"), *exchange("c"), *exchange("d"))

    async def test_results_before_the_last_messages_are_left_out(self) -> None:
        window = CompactToolResults(after=1, keep_last=2).start(RUN, ESTIMATE)

        assert await window.view(Conversation(self.TALK)) == [
            user("go"), calls("a", "b"), result("a", "[compacted]"), result("b", "[compacted]"),
            *exchange("c"), *exchange("d"),
        ]  # fmt: skip

    async def test_it_begins_at_its_turn(self) -> None:
        window, conversation = CompactToolResults(after=3).start(RUN, ESTIMATE), Conversation(self.TALK)

        assert [len(await compacted(window.view(conversation))) for _ in range(4)] == [0, 0, 3, 3]

    async def test_the_window_moves_with_the_conversation(self) -> None:
        window, conversation = CompactToolResults(after=1).start(RUN, ESTIMATE), Conversation([user("go")])
        counts = []
        for name in "abc":
            conversation.extend(exchange(name))
            counts.append(len(await compacted(window.view(conversation))))
        conversation.append(says("thinking aloud"))

        assert (counts, len(await compacted(window.view(conversation)))) == ([0, 1, 2], 3)
        assert not any(isinstance(m, ToolResult) and m.content != "found" for m in conversation.messages)

    async def test_what_is_recent_again_is_shown_again(self) -> None:
        window, conversation = CompactToolResults(after=1).start(RUN, ESTIMATE), Conversation(self.TALK)
        assert len(await compacted(window.view(conversation))) == 3

        conversation.remove(conversation.ids[-1])

        assert len(await compacted(window.view(conversation))) == 2

    async def test_an_error_stays_one(self) -> None:
        failed = ToolResult("a", "look", "no such place " * 9, is_error=True)
        window = CompactToolResults(after=1).start(RUN, ESTIMATE)

        view = await window.view(Conversation([user("go"), calls("a"), failed, says("hm")]))

        assert view[2] == ToolResult("a", "look", "[compacted]", is_error=True)

    def test_numbers_have_to_be_possible(self) -> None:
        with pytest.raises(DeclarationError, match=r"after cannot be negative\s+- keep_last must be at least 1"):
            CompactToolResults(after=-1, keep_last=0)
