"""What `openai-responses` answers, whole and as a stream."""

from __future__ import annotations

import json

import pytest

from tactician.errors import (
    ContextLengthError,
    MalformedResponseError,
    ModelError,
    ModelRequestError,
    ModelServerError,
    RateLimitError,
)
from tactician.llm import AssistantMessage, ModelRequest, ModelResponse, Text, Thinking, ToolCall, Usage
from tactician.llm.messages import ProviderItem, SystemMessage
from tactician.llm.model import Delta, ThinkingDelta, ToolCallDelta
from tactician.llm.wire import Dialect
from tactician.llm.wire.openai_responses import FORMAT, ResponsesStreamDecoder, decode, encode
from tests.support.voices import Body, function_call, output_message, reasoning, response, response_events

SEARCH: Body = {
    "id": "ws_1",
    "type": "web_search_call",
    "status": "completed",
    "action": {"type": "search", "query": "x"},
}
CODE: Body = {"id": "ci_1", "type": "code_interpreter_call", "status": "completed", "code": "1+1", "container_id": "c"}


def streamed(body: dict[str, object], *left_out: str) -> tuple[list[Delta], ModelResponse]:
    decoder = ResponsesStreamDecoder("m")
    events = [event for event in response_events(body) if event["type"] not in left_out]
    deltas = [delta for event in events for delta in decoder.feed(json.dumps(event))]
    return deltas, decoder.response()


def test_every_kind_of_item() -> None:
    items = (reasoning("One.", "Two."), SEARCH, output_message("Hi"), CODE, function_call("c1", "f", '{"a":1}'))

    answer = decode(response(*items))

    assert answer.message.parts == (
        Thinking("One.\n\nTwo."),
        ProviderItem(FORMAT, json.dumps(items[0], separators=(",", ":"))),
        ProviderItem(FORMAT, json.dumps(SEARCH, separators=(",", ":"))),
        Text("Hi"),
        ProviderItem(FORMAT, json.dumps(CODE, separators=(",", ":"))),
        ToolCall("c1", "f", '{"a":1}'),
    )
    assert (answer.finish_reason, answer.model) == ("tool_calls", "served-model")
    assert answer.usage == Usage(input_tokens=11, output_tokens=7, cache_read_tokens=3, requests=1, reasoning_tokens=2)
    assert streamed(response(*items))[1] == answer


def test_what_came_goes_back_in_its_order() -> None:
    items: list[Body] = [reasoning("One."), SEARCH, function_call("c1", "f", '{"a":1}')]
    message = decode(response(*items)).message

    sent = encode(ModelRequest((message,)), "gpt-5.4", Dialect(encrypted_reasoning=True))["input"]

    assert sent == [
        items[0],
        SEARCH,
        {"type": "function_call", "call_id": "c1", "name": "f", "arguments": '{"a":1}'},
    ]


def test_a_commentary_goes_back_as_a_commentary() -> None:
    commentary = {**output_message("I will look."), "phase": "commentary"}
    answer: Body = {**output_message("Sunny."), "phase": "final_answer"}
    body = response(commentary, function_call("c1", "f"), answer, output_message("Bye."))
    message = decode(body).message

    sent = encode(ModelRequest((message,)), "gpt-5.4")["input"]

    assert isinstance(sent, list)
    assert [one.get("phase") for one in sent] == ["commentary", None, "final_answer", "final_answer"]
    assert (message.text, streamed(body)[1].message) == ("I will look.Sunny.Bye.", message)


def test_thinking_does_not_go_to_a_model_that_does_not_think() -> None:
    message = decode(response(reasoning("One."), output_message("Hi"))).message

    sent = encode(ModelRequest((message,)), "gpt-4.1")["input"]

    assert sent == [{"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Hi"}]}]


@pytest.mark.parametrize("data", ["", "{", "[]", "7"])
def test_a_stored_item_that_is_none_is_passed_over(data: str) -> None:
    message = AssistantMessage((ProviderItem(FORMAT, data), Text("Hi")))

    assert len(encode(ModelRequest((message,)), "gpt-5.4")["input"]) == 1  # type: ignore[arg-type]


def test_thinking_that_is_not_encrypted_is_shown() -> None:
    item = {"type": "reasoning", "id": "r", "summary": [], "content": [{"type": "reasoning_text", "text": "Hm"}]}

    deltas, answer = streamed(response(item))

    assert answer.message.thinking == "Hm"
    assert deltas == [ThinkingDelta("H"), ThinkingDelta("m")]


@pytest.mark.parametrize(("reason", "finish"), [("max_output_tokens", "length"), ("content_filter", "content_filter")])
def test_an_incomplete_answer(reason: str, finish: str) -> None:
    body = response(output_message("and"), status="incomplete", incomplete_details={"reason": reason})

    assert decode(body).finish_reason == streamed(body)[1].finish_reason == finish


@pytest.mark.parametrize(
    ("code", "kind"),
    [
        ("server_error", ModelServerError),
        ("rate_limit_exceeded", RateLimitError),
        ("invalid_prompt", ModelRequestError),
        ("context_length_exceeded", ContextLengthError),
        ("something_new", ModelRequestError),
        (None, ModelServerError),
    ],
)
def test_a_failure_has_its_own_error(code: str | None, kind: type[ModelError]) -> None:
    error = {"message": "it went wrong"} if code is None else {"code": code, "message": "it went wrong"}
    body = response(status="failed", error=error)

    with pytest.raises(kind, match="m: it went wrong"):
        decode(body, "m")
    with pytest.raises(kind, match="m: it went wrong"):
        streamed(body)
    for event in ({"type": "error", **error}, {"type": "error", "error": error}):
        if code is not None or "error" in event:
            with pytest.raises(kind, match="m: it went wrong"):
                list(ResponsesStreamDecoder("m").feed(json.dumps(event)))


def test_a_server_that_repeats_nothing_at_the_end() -> None:
    items = (output_message("Hi"), function_call("c1", "f", '{"a":1}'))
    decoder = ResponsesStreamDecoder("m")
    for event in response_events(response(*items)):
        ended = event["type"] == "response.completed"
        list(decoder.feed(json.dumps({**event, "response": response()} if ended else event)))

    assert decoder.response() == decode(response(*items))


def test_a_server_that_sends_arguments_at_once() -> None:
    left_out = ("response.function_call_arguments.delta", "response.output_item.added")

    deltas, _ = streamed(response(function_call("c1", "f", '{"a":1}')), *left_out)

    assert deltas == [ToolCallDelta(0, "c1", "f", ""), ToolCallDelta(0, "c1", "f", '{"a":1}')]


def test_a_stream_that_breaks_off() -> None:
    with pytest.raises(MalformedResponseError, match="m: the stream broke off"):
        streamed(response(output_message("Hi")), "response.completed")


def test_instructions_are_the_first_system_messages() -> None:
    hi, late = AssistantMessage((Text("hi"),)), SystemMessage("c")

    body = encode(ModelRequest((SystemMessage("a"), SystemMessage("b"), hi, late)), "m")
    alone = encode(ModelRequest((SystemMessage("a"),)), "m")

    assert body["instructions"] == "a\n\nb"
    assert body["input"][1] == {"type": "message", "role": "system", "content": [{"type": "input_text", "text": "c"}]}  # type: ignore[index]
    assert "instructions" not in alone
    assert len(alone["input"]) == 1  # type: ignore[arg-type]
