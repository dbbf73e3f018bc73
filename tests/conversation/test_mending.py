"""Any messages become a conversation that every provider takes."""

from __future__ import annotations

from hypothesis import given

from tactician.conversation.history_repair import repair_history
from tactician.llm import AssistantMessage, Message, Thinking, ToolResult, UserMessage
from tactician.llm.messages import SystemMessage
from tests.conversation.talk import anything, calls, conversations, exchange, result, says, user
from tests.support.validity import check_sent, check_valid


@given(anything)
def test_whatever_it_is_becomes_valid(messages: list[Message]) -> None:
    whole = repair_history(messages)

    check_valid(whole)
    check_sent((*whole, user("go on")))
    assert repair_history(whole) == whole


@given(conversations())
def test_what_is_valid_stays_as_it_is(messages: list[Message]) -> None:
    check_valid(messages)
    check_sent((*messages, user("go on")))

    assert repair_history(messages) == tuple(messages)


def test_nothing_stays_nothing() -> None:
    assert repair_history([]) == ()
    assert repair_history([SystemMessage("Be kind"), SystemMessage(" ")]) == (SystemMessage("Be kind"),)


def test_a_call_without_a_result_gets_one_and_a_result_without_a_call_goes() -> None:
    given_: list[Message] = [user("hi"), result("z"), calls("a", "b"), result("b"), says("well")]

    assert repair_history(given_) == (
        user("hi"), calls("a", "b"), result("b"), ToolResult("a", "look", "(no result)", is_error=True), says("well"),
    )  # fmt: skip


def test_results_come_right_after_the_calls_and_only_once() -> None:
    given_: list[Message] = [user("hi"), calls("a"), user("quick!"), result("a", "first"), result("a", "second")]

    assert repair_history(given_) == (user("hi"), calls("a"), result("a", "first"), user("quick!"))


def test_a_result_that_comes_after_the_next_answer_is_too_late() -> None:
    whole = repair_history([user("hi"), calls("a"), says("well"), result("a")])

    assert whole == (user("hi"), calls("a"), ToolResult("a", "look", "(no result)", is_error=True), says("well"))


def test_ids_that_come_again_are_numbered_in_calls_and_results() -> None:
    whole = repair_history(
        [user("hi"), *exchange("a"), *exchange("a"), calls("a", "a"), result("a", "x"), result("a", "y")]
    )

    assert whole[3:] == (*exchange("a_2"), calls("a_3", "a_4"), result("a_3", "x"), result("a_4", "y"))


def test_what_says_nothing_is_left_out() -> None:
    empty = (AssistantMessage(), says(" "), AssistantMessage((Thinking("hm", "signed"),)), UserMessage(()), user("\n"))

    assert repair_history([user("hi"), *empty, says("hello")]) == (user("hi"), says("hello"))


def test_it_begins_with_the_user() -> None:
    assert repair_history([SystemMessage("s"), says("hello")]) == (SystemMessage("s"), user("Continue."), says("hello"))
