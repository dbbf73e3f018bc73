"""A conversation grows, is changed from outside, and is saved, and never parts a call from its result."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tactician.conversation import Conversation
from tactician.errors import StoredStateError
from tactician.llm import AssistantMessage, Message, UserMessage
from tactician.llm.messages import SystemMessage
from tests.conversation.talk import calls, completed, conversations, exchange, result, says, user
from tests.support.validity import check_valid


class TestGrowth:
    def test_messages_come_in_order_and_have_ids(self) -> None:
        conversation = Conversation([user("a")])

        conversation.append(says("b"))
        conversation.extend([user("c"), says("d")])

        assert conversation.messages == [user("a"), says("b"), user("c"), says("d")]
        assert len(conversation) == len(set(conversation.ids)) == 4
        assert conversation.revision == 0

    def test_the_messages_are_a_view(self) -> None:
        conversation = Conversation([user("a")])
        messages = conversation.messages

        conversation.append(says("b"))

        assert (len(messages), messages[-1], messages[:1], messages[-2:]) == (
            2, says("b"), [user("a")], [user("a"), says("b")],
        )  # fmt: skip
        assert [*reversed(messages)] == [says("b"), user("a")]
        assert messages == Conversation([user("a"), says("b")]).messages
        assert messages != [user("a")]
        assert messages != "ab"
        assert repr(messages) == f"Messages({[user('a'), says('b')]!r})"
        assert not hasattr(messages, "append")

    def test_it_has_the_given_id_or_one_of_its_own(self) -> None:
        assert Conversation(id="c").id == "c"
        assert repr(Conversation(id="c")) == "Conversation(0 messages, id='c')"
        one = Conversation()
        assert one.id == one.id != Conversation().id

    def test_calls_are_open_until_each_has_its_result(self) -> None:
        conversation = Conversation([user("a")])
        assert not conversation.open_calls

        conversation.append(calls("x", "y", "z"))
        conversation.append(result("y"))
        assert [call.id for call in conversation.open_calls] == ["x", "z"]

        conversation.extend([result("z"), result("x")])
        assert conversation.open_calls == ()

    def test_two_calls_with_one_id_need_two_results(self) -> None:
        conversation = Conversation([user("a"), calls("x", "x"), result("x")])
        assert len(conversation.open_calls) == 1

    def test_rewinding_forgets_the_newest(self) -> None:
        conversation = Conversation([user("a"), calls("x")])
        waiting = conversation.insert(user("by the way"))

        conversation.rewind(7)
        assert (len(conversation), conversation.revision) == (2, 0)
        conversation.rewind(1)

        assert conversation.messages == [user("a"), user("by the way")]
        assert conversation.ids[-1] == waiting
        assert conversation.find_change_since(0) == 1


class TestInserting:
    def test_a_message_goes_to_the_end(self) -> None:
        conversation = Conversation([user("a"), says("b")])

        id = conversation.insert(user("c"))  # noqa: A001

        assert conversation.messages[-1] == user("c")
        assert conversation.ids[-1] == id
        assert conversation.revision == 0

    def test_while_calls_are_open_it_waits_for_the_last_result(self) -> None:
        conversation = Conversation([user("a"), calls("x", "y")])
        ids = [conversation.insert(user("first")), conversation.insert(SystemMessage("second"))]

        conversation.append(result("y"))
        assert conversation.messages[-1] == result("y")
        conversation.extend([result("x"), says("done")])

        assert conversation.messages[-4:] == [result("x"), user("first"), SystemMessage("second"), says("done")]
        assert conversation.ids[-3:-1] == (*ids,)

    def test_what_waits_can_be_removed(self) -> None:
        conversation = Conversation([user("a"), calls("x")])
        id = conversation.insert(user("never mind"))  # noqa: A001

        assert conversation.remove(id)
        conversation.append(result("x"))

        assert conversation.messages[-1] == result("x")

    @pytest.mark.parametrize("message", [result("x"), calls("x")])
    def test_calls_and_results_are_not_for_inserting(self, message: Message) -> None:
        with pytest.raises(ValueError, match="Tool calls and their results cannot be inserted"):
            Conversation([user("a")]).insert(message)


class TestRemoving:
    def test_a_message_goes(self) -> None:
        conversation = Conversation([user("a"), says("b"), user("c")])

        assert conversation.remove(conversation.ids[1])
        assert conversation.messages == [user("a"), user("c")]
        assert (conversation.revision, conversation.find_change_since(0)) == (1, 1)

    def test_what_is_not_there_cannot_go(self) -> None:
        conversation = Conversation([user("a")])
        gone = conversation.ids[0]

        assert conversation.remove(gone)
        assert not conversation.remove(gone)
        assert not conversation.remove("nonsense")

    @pytest.mark.parametrize("place", [1, 2, 3])
    def test_calls_and_results_go_together(self, place: int) -> None:
        conversation = Conversation([user("a"), *exchange("x", "y"), says("b")])

        assert conversation.remove(conversation.ids[place])
        assert conversation.messages == [user("a"), says("b")]

    @pytest.mark.parametrize("place", [1, 2])
    def test_what_is_open_stays(self, place: int) -> None:
        conversation = Conversation([user("a"), calls("x", "y"), result("x")])

        assert not conversation.remove(conversation.ids[place])
        assert len(conversation) == 3

    def test_an_id_is_never_given_again(self) -> None:
        conversation = Conversation([user("a"), says("b")])
        gone = conversation.ids[1]

        conversation.remove(gone)
        conversation.append(says("c"))

        assert gone not in conversation.ids

    def test_a_result_that_belongs_to_nothing_goes_alone(self) -> None:
        conversation = Conversation([user("a"), result("x")])

        assert conversation.remove(conversation.ids[1])
        assert conversation.messages == [user("a")]


class TestTruncating:
    def test_the_newest_stay(self) -> None:
        conversation = Conversation([SystemMessage("s"), user("a"), says("b"), user("c"), says("d")])
        ids = conversation.ids

        conversation.truncate(2)

        assert conversation.messages == [SystemMessage("s"), user("c"), says("d")]
        assert conversation.ids == (ids[0], *ids[-2:])
        assert conversation.find_change_since(0) == 1

    def test_what_is_short_stays_as_it_is(self) -> None:
        conversation = Conversation([user("a"), says("b")])
        conversation.truncate(2)
        assert (len(conversation), conversation.revision) == (2, 0)

    def test_an_exchange_is_not_cut(self) -> None:
        conversation = Conversation([user("a"), *exchange("x", "y"), user("b"), says("c")])
        conversation.truncate(4)
        assert conversation.messages == [user("b"), says("c")]

    def test_the_message_of_the_user_that_it_follows_stays(self) -> None:
        conversation = Conversation([user("a"), says("b"), user("do"), *exchange("x"), *exchange("y")])
        conversation.truncate(2)
        assert conversation.messages == [user("do"), *exchange("y")]

        conversation.truncate(1)
        assert conversation.messages == [user("do")]

    def test_nothing_is_left_of_what_is_not_to_be_kept(self) -> None:
        conversation = Conversation([SystemMessage("s"), user("a"), says("b")])
        conversation.truncate(0)
        assert conversation.messages == [SystemMessage("s")]

    def test_what_is_open_stays(self) -> None:
        conversation = Conversation([user("a"), says("b"), user("c"), calls("x", "y"), result("x")])
        conversation.truncate(0)
        assert conversation.messages == [user("c"), calls("x", "y"), result("x")]

    def test_without_the_user_only_the_newest_stay(self) -> None:
        conversation = Conversation([says("a"), says("b"), says("c")])
        conversation.truncate(1)
        assert conversation.messages == [says("c")]


@given(conversations(), st.data())
def test_whatever_happens_the_conversation_stays_valid(messages: list[Message], data: st.DataObject) -> None:
    conversation = Conversation()
    for message in messages:
        conversation.append(message)
        kind = data.draw(st.sampled_from(["nothing", "nothing", "insert", "remove", "truncate"]))
        if kind == "insert":
            conversation.insert(user("inserted"))
        elif kind == "remove":
            removed = data.draw(st.sampled_from(conversation.ids or ("none",)))
            assert conversation.remove(removed) or conversation.open_calls or removed == "none"
            assert removed not in conversation.ids or conversation.open_calls
        elif kind == "truncate":
            conversation.truncate(data.draw(st.integers(0, 6)))
        assert len(conversation.ids) == len(set(conversation.ids)) == len(conversation)
        check_valid(completed(conversation.messages, conversation), begins_with_user=False)


@given(conversations(), st.integers(1, 8))
def test_truncated_it_is_short_and_begins_with_the_user(messages: list[Message], keep_last: int) -> None:
    conversation = Conversation(messages)

    conversation.truncate(keep_last)

    check_valid(conversation.messages)
    head = next(n for n, one in enumerate(messages) if isinstance(one, UserMessage))
    assert len(conversation) <= head + keep_last + 1
    assert conversation.messages[:head] == messages[:head]


class TestSaving:
    @given(conversations(), st.booleans())
    def test_it_comes_back_as_it_was(self, messages: list[Message], is_open: bool) -> None:
        conversation = Conversation(messages)
        conversation.remove(conversation.ids[-1])
        conversation.extend([user("go on"), calls("open")] if is_open else [])
        conversation.insert(user("by the way"))

        for other in (Conversation.from_json(conversation.to_json()), conversation.copy()):
            assert (other.id, other.ids) == (conversation.id, conversation.ids)
            assert other.messages == conversation.messages
            other.append(result("open") if is_open else says("b"))
            assert other.messages[-1] == (user("by the way") if is_open else says("b"))
            assert len(set(other.ids)) == len(other)
            assert len(other) > len(conversation)

    @pytest.mark.parametrize(
        ("change", "why"),
        [
            ({"messages": [{"role": "judge", "text": "guilty"}]}, "messages.0"),
            ({"ids": [0, 0]}, "its ids do not fit its messages"),
            ({"ids": [0]}, "its ids do not fit its messages"),
            ({"ids": [0, 9]}, "its ids do not fit its messages"),
            ({"waiting": [1]}, "its ids do not fit its messages"),
            ({"format": 2}, "format"),
            ({"next": "many"}, "next"),
        ],
    )
    def test_what_is_no_conversation_is_refused(self, change: dict[str, object], why: str) -> None:
        saved = json.loads(Conversation([user("a"), says("b")], "c").to_json())

        with pytest.raises(StoredStateError, match=f"The saved conversation cannot be read: {why}"):
            Conversation.from_json(json.dumps({**saved, **change}))

    def test_what_is_no_json_is_refused_without_repeating_it(self) -> None:
        with pytest.raises(StoredStateError, match="the text: Invalid JSON") as caught:
            Conversation.from_json("secret")
        assert "secret" not in str(caught.value)

    def test_what_is_too_large_is_not_even_read(self, monkeypatch: pytest.MonkeyPatch) -> None:
        text = Conversation([AssistantMessage()]).to_json()
        monkeypatch.setattr("tactician.conversation.saved_form._MAX_SIZE", len(text) - 1)

        with pytest.raises(StoredStateError, match="it is longer than"):
            Conversation.from_json(text)
