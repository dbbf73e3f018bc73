"""A conversation as Anthropic takes it, case by case."""

from __future__ import annotations

import json

import pytest

from tactician.errors import (
    ModelRequestError,
)
from tactician.llm import (
    AssistantMessage,
    Document,
    LlmOptions,
    Message,
    ModelRequest,
    ModelResponse,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    UserMessage,
)
from tactician.llm.messages import ProviderItem, SystemMessage
from tactician.llm.model import ToolSpec
from tactician.llm.wire.anthropic_messages import FORMAT, continue_paused, decode, encode, merge
from tests.support.anthropic_server import (
    Block,
    found,
    message,
    searching,
    text,
    thinking,
    tool_use,
)

WEATHER = ToolSpec("weather", "The weather in a city.", {"type": "object", "properties": {"city": {"type": "string"}}})
HI = UserMessage("hi")
CALL = ToolCall("1", "weather", "{}")
RESULT = ToolResult("1", "weather", "sunny")


def turns(*messages: Message) -> list[tuple[str, list[Block]]]:
    """The turns that the messages become."""
    encoded = encode(ModelRequest(messages), "m")["messages"]
    assert isinstance(encoded, list)
    return [(turn["role"], turn["content"]) for turn in encoded]


def item(block: Block) -> ProviderItem:
    return ProviderItem(FORMAT, json.dumps(block))


@pytest.mark.parametrize("arguments", ["\ud800", '{"a": "\ud800"}', '{"a": '])
def test_arguments_that_cannot_be_written_are_passed_on(arguments: str) -> None:
    messages = (UserMessage("x"), AssistantMessage((ToolCall("call_1", "look", arguments),)))
    (block,) = (block for _, blocks in turns(*messages) for block in blocks if block["type"] == "tool_use")
    assert isinstance(block["input"], dict)
    json.dumps(block, ensure_ascii=False).encode()


def said(content: str) -> list[Block]:
    return [{"type": "text", "text": content}]


class TestConversations:
    def test_messages_of_one_role_become_one_turn(self) -> None:
        given = (HI, UserMessage("you"), AssistantMessage((Text("a"),)), AssistantMessage((Text("b"),)), HI)

        assert turns(*given) == [
            ("user", [text("hi"), text("you")]),
            ("assistant", [text("a"), text("b")]),
            ("user", [text("hi")]),
        ]

    def test_results_come_before_what_the_user_says(self) -> None:
        calls = AssistantMessage((ToolCall("1", "a"), ToolCall("2", "b")))

        _, _, (_, content) = turns(
            HI, calls, UserMessage("quick!"), ToolResult("2", "b", "y"), ToolResult("1", "a", "x")
        )

        assert [block.get("tool_use_id", block.get("text")) for block in content] == ["2", "1", "quick!"]

    def test_a_call_that_nobody_answered_gets_an_answer(self) -> None:
        _, _, (role, content) = turns(HI, AssistantMessage((CALL,)), UserMessage("well?"))

        no_result = "The tool was not run: it has no result."
        assert role == "user"
        assert content == [
            {"type": "tool_result", "tool_use_id": "1", "content": no_result, "is_error": True},
            text("well?"),
        ]

    def test_a_result_that_nobody_asked_for_is_told(self) -> None:
        assert turns(HI, RESULT) == [("user", [text("hi"), text("The result of weather: sunny")])]

    def test_ids_of_other_providers_are_rewritten_alike_in_calls_and_results(self) -> None:
        calls = AssistantMessage((ToolCall("functions.a:0", "a"), ToolCall("", "b")))

        _, (_, called), (_, answered) = turns(
            HI, calls, ToolResult("", "b", "y"), ToolResult("functions.a:0", "a", "x")
        )

        ids = [block["id"] for block in called]
        assert ids == ["call_66756e6374696f6e732e613a30", "call_"]
        assert [(block["tool_use_id"], block["content"]) for block in answered] == [(ids[1], "y"), (ids[0], "x")]

    def test_an_id_that_comes_again_is_numbered(self) -> None:
        again = (AssistantMessage((CALL,)), RESULT)

        given = turns(HI, *again, *again, *again)

        assert [content[0].get("id") for role, content in given if role == "assistant"] == ["1", "1_2", "1_3"]
        assert [content[0].get("tool_use_id") for role, content in given[2:] if role == "user"] == ["1", "1_2", "1_3"]

    @pytest.mark.parametrize("arguments", ["{", "[1]", '{"a": NaN}', '"x"'])
    def test_arguments_that_are_no_object_are_shown_to_the_model(self, arguments: str) -> None:
        _, (_, content), _ = turns(HI, AssistantMessage((ToolCall("1", "weather", arguments),)), RESULT)

        assert content[0]["input"] == {"invalid_json": arguments}

    def test_no_arguments_are_an_empty_object(self) -> None:
        _, (_, content), _ = turns(HI, AssistantMessage((ToolCall("1", "weather", ""),)), RESULT)

        assert content[0]["input"] == {}

    def test_an_empty_result_is_left_empty_and_an_empty_error_is_not(self) -> None:
        calls = AssistantMessage((ToolCall("1", "a"), ToolCall("2", "b")))

        *_, (_, content) = turns(HI, calls, ToolResult("1", "a", ""), ToolResult("2", "b", " ", is_error=True))

        assert content == [
            {"type": "tool_result", "tool_use_id": "1"},
            {"type": "tool_result", "tool_use_id": "2", "content": "The tool failed.", "is_error": True},
        ]

    def test_nothing_blank_is_sent(self) -> None:
        blank = AssistantMessage((Text("\n"), Thinking("not signed")))

        assert turns(UserMessage((Text(""), Text("hi"))), blank, UserMessage(" ")) == [("user", said("hi"))]

    def test_a_conversation_begins_and_ends_with_the_user(self) -> None:
        assert turns(AssistantMessage((Text("a"),))) == [
            ("user", said("Continue.")),
            ("assistant", said("a")),
            ("user", said("Continue.")),
        ]
        assert turns(SystemMessage("Be brief")) == [("user", said("Continue."))]

    def test_thinking_that_led_to_nothing_is_left_out(self) -> None:
        assert turns(HI, AssistantMessage((Text("a"), Thinking("b", "sig"))), HI)[1] == ("assistant", said("a"))

    def test_what_another_format_said_to_itself_is_left_out(self) -> None:
        foreign = ProviderItem("openai-responses", '{"type":"reasoning"}')

        assert turns(HI, AssistantMessage((foreign, Text("a"))), HI)[1] == ("assistant", said("a"))

    def test_a_search_is_replayed_as_it_was(self) -> None:
        searched = AssistantMessage((item(searching("s", "q")), item(found("s")), Text("a")))

        assert turns(HI, searched, HI)[1] == ("assistant", [searching("s", "q"), found("s"), text("a")])

    def test_a_search_that_was_never_finished_is_left_out(self) -> None:
        begun = AssistantMessage((Text("a"), item(searching("s", "q"))))

        assert turns(HI, begun, HI)[1] == ("assistant", said("a"))

    def test_a_search_that_runs_beside_our_own_tools_stays(self) -> None:
        begun = AssistantMessage((item(searching("s", "q")), CALL))

        assert turns(HI, begun, RESULT)[1][1][0] == searching("s", "q")
        assert turns(HI, begun, RESULT, UserMessage("forget it"))[1][1][0]["type"] == "tool_use"

    def test_a_text_document_is_read_and_an_unknown_one_refused(self) -> None:
        csv = Document.from_bytes(b"a,b", "text/csv; charset=utf-8", "a.csv")
        word = Document.from_bytes(b"PK", "application/msword", "a.doc")

        source = {"type": "text", "media_type": "text/plain", "data": "a,b"}
        assert turns(UserMessage((csv,)))[0][1] == [{"type": "document", "source": source, "title": "a.csv"}]
        with pytest.raises(ModelRequestError, match=r"m: Claude reads PDF and text, not application/msword \(a.doc\)"):
            turns(UserMessage((word,)))


class TestPauses:
    REQUEST = ModelRequest((HI,), options=LlmOptions(native_tools=("web_search", "code_interpreter")))

    def paused(self) -> ModelResponse:
        return decode(message(text("Let me see."), searching("s", "q"), stop="pause_turn", container="box"))

    def test_a_whole_answer_has_no_continuation(self) -> None:
        assert continue_paused(self.REQUEST, decode(message(text("Hi")))) is None
        assert continue_paused(self.REQUEST, decode(message(tool_use("1", "a"), container="box"))) is None

    def test_a_paused_turn_is_sent_back_as_it_was(self) -> None:
        more = continue_paused(self.REQUEST, self.paused())

        assert more is not None
        sent = encode(more, "m")
        assert sent["messages"] == [
            {"role": "user", "content": said("hi")},
            {"role": "assistant", "content": [text("Let me see."), searching("s", "q")]},
        ]
        assert sent["container"] == "box"

    def test_a_paused_turn_may_end_in_thinking(self) -> None:
        response = decode(message(searching("s", "q"), thinking("Hm"), stop="pause_turn"))

        more = continue_paused(self.REQUEST, response)

        assert more is not None
        assert turns(*more.messages)[-1] == ("assistant", [searching("s", "q"), thinking("Hm")])

    def test_a_result_of_something_else_does_not_keep_a_turn_going(self) -> None:
        begun = AssistantMessage((Text("a"), item(searching("s", "q"))))

        assert turns(HI, begun, RESULT)[1] == ("assistant", said("a"))

    def test_all_parts_are_one_answer(self) -> None:
        rest = decode(message(found("s"), text("Sunny.")))

        whole = merge(self.paused(), rest)

        assert whole == ModelResponse(
            decode(message(text("Let me see."), searching("s", "q"), found("s"), text("Sunny."))).message,
            self.paused().usage + rest.usage,
            "stop",
            "claude-served",
        )
        assert continue_paused(self.REQUEST, whole) is None
        assert whole.usage.requests == 2

    def test_a_turn_can_pause_again(self) -> None:
        again = decode(message(found("s"), searching("t", "r"), stop="pause_turn", container="box"))

        more = continue_paused(self.REQUEST, merge(self.paused(), again))

        assert more is not None
        messages = encode(more, "m")["messages"]
        assert isinstance(messages, list)
        assert messages[-1]["content"] == [text("Let me see."), searching("s", "q"), found("s"), searching("t", "r")]

    def test_a_turn_that_was_given_up_leaves_no_trace(self) -> None:
        assert turns(HI, self.paused().message, UserMessage("Never mind"))[1] == ("assistant", said("Let me see."))

    def test_code_goes_on_in_its_container_after_our_own_tools(self) -> None:
        called = decode(message(tool_use("1", "weather"), container="box"))
        asked = (HI, called.message, RESULT)

        options = self.REQUEST.options
        assert encode(ModelRequest(asked, (WEATHER,), options=options), "m")["container"] == "box"
        assert "container" not in encode(ModelRequest(asked, (WEATHER,)), "m")
        assert "container" not in encode(ModelRequest((*asked, HI), (WEATHER,), options=options), "m")
