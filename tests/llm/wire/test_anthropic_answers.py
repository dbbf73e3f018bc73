"""What Anthropic answers, whole and as a stream."""

from __future__ import annotations

import json

import pytest

from tactician.errors import (
    AuthenticationError,
    ContentFilterError,
    MalformedResponseError,
    ModelError,
    ModelNotFoundError,
    ModelRequestError,
    ModelServerError,
    RateLimitError,
)
from tactician.llm import ModelResponse, Text, Thinking, ToolCall, Usage
from tactician.llm.messages import ProviderItem
from tactician.llm.model import TextDelta, ThinkingDelta, ToolCallDelta
from tactician.llm.wire.anthropic_messages import FORMAT, MessagesStreamDecoder, decode
from tests.support.anthropic_server import (
    error,
    events,
    found,
    message,
    redacted,
    searching,
    text,
    thinking,
    tool_use,
)


class TestAnswers:
    def test_every_kind_of_block(self) -> None:
        blocks = (thinking("Hm"), redacted(), text("Hi"), searching("s", "q"), found("s"), tool_use("1", "weather"))

        response = decode(message(*blocks))

        assert response.message.parts == (
            Thinking("Hm", "sig"),
            ProviderItem(FORMAT, '{"type":"redacted_thinking","data":"secret"}'),
            Text("Hi"),
            ProviderItem(FORMAT, json.dumps(searching("s", "q"), separators=(",", ":"))),
            ProviderItem(FORMAT, json.dumps(found("s"), separators=(",", ":"))),
            ToolCall("1", "weather", "{}"),
        )

    def test_thinking_that_is_not_shown_keeps_its_signature(self) -> None:
        assert decode(message(thinking("", "sig"), text("a"))).message.parts == (Thinking("", "sig"), Text("a"))

    def test_citations_are_no_part_of_the_text(self) -> None:
        cited = {**text("a"), "citations": [{"type": "web_search_result_location", "url": "https://example.com"}]}

        assert decode(message(cited)).message.parts == (Text("a"),)

    def test_cached_tokens_count_as_input(self) -> None:
        used = Usage(input_tokens=16, output_tokens=7, cache_read_tokens=3, cache_write_tokens=2, requests=1)

        assert decode(message(text("a"))).usage == used
        assert decode({**message(text("a")), "usage": None}).usage == Usage(requests=1)

    @pytest.mark.parametrize(
        ("stop", "finish"),
        [
            ("end_turn", "stop"),
            ("stop_sequence", "stop"),
            ("max_tokens", "length"),
            ("model_context_window_exceeded", "length"),
            ("pause_turn", "length"),
            ("tool_use", "tool_calls"),
            ("something_new", "stop"),
        ],
    )
    def test_stop_reasons(self, stop: str, finish: str) -> None:
        assert decode(message(text("a"), stop=stop)).finish_reason == finish

    @pytest.mark.parametrize(
        ("details", "reason"),
        [
            (
                {"type": "refusal", "category": "cyber", "explanation": "It may help an attack."},
                "cyber: It may help an",
            ),
            ({"type": "refusal", "category": None, "explanation": "It may help an attack."}, "It may help an attack."),
            (None, "it gave no reason"),
            ([7], "it gave no reason"),
        ],
    )
    @pytest.mark.parametrize("blocks", [(), (text("I begin"),)])
    def test_a_refusal_is_an_error_with_the_reason(
        self, blocks: tuple[dict[str, object], ...], details: object, reason: str
    ) -> None:
        answer = {**message(*blocks, stop="refusal"), "stop_details": details}
        for read in (lambda: decode(answer, "m"), lambda: feed(*refused(answer))):
            with pytest.raises(ContentFilterError, match=rf"^m: Claude refused to answer \({reason}") as caught:
                read()
            assert caught.value.model == "m"

    @pytest.mark.parametrize("answer", [None, [], {}, {"content": None}, message({"type": "text"}), "hello"])
    def test_what_is_no_message_is_malformed(self, answer: object) -> None:
        with pytest.raises(MalformedResponseError, match="m: the answer is not an Anthropic message") as caught:
            decode(answer, "m")
        assert caught.value.model == "m"


def refused(answer: dict[str, object]) -> list[dict[str, object]]:
    """The events of a refusal: its details come with the reason at the end."""
    found = [dict(event) for event in events(answer)]
    for event in found:
        if event["type"] == "message_delta":
            event["delta"] = {"stop_reason": "refusal", "stop_details": answer["stop_details"]}
    return found


def feed(*given: dict[str, object]) -> tuple[list[object], ModelResponse]:
    decoder = MessagesStreamDecoder("m")
    deltas: list[object] = [delta for event in given for delta in decoder.feed(json.dumps(event))]
    return deltas, decoder.response()


class TestStreams:
    def test_deltas_of_every_kind(self) -> None:
        deltas, _ = feed(*events(message(thinking("Hmm!"), text("Hi"), tool_use("1", "weather", {"a": 1}))))

        assert deltas == [
            ThinkingDelta("Hm"),
            ThinkingDelta("m!"),
            TextDelta("H"),
            TextDelta("i"),
            ToolCallDelta(0, "1", "weather", ""),
            ToolCallDelta(0, "1", "weather", '{"a"'),
            ToolCallDelta(0, "1", "weather", ": 1}"),
        ]

    def test_calls_are_numbered_without_the_other_blocks(self) -> None:
        deltas, _ = feed(*events(message(text("Hi"), tool_use("1", "a"), searching("s", "q"), tool_use("2", "b"))))

        assert [(one.index, one.id) for one in deltas if isinstance(one, ToolCallDelta) and not one.arguments] == [
            (0, "1"),
            (1, "2"),
        ]

    def test_a_call_that_was_cut_off_keeps_what_was_written(self) -> None:
        begun = events(message(tool_use("1", "weather", {"city": "Rome"}), stop="max_tokens"))
        shorter = [event for event in begun if json.dumps(event).count("Rome") == 0]

        _, response = feed(*shorter)

        assert response.message.tool_calls == (ToolCall("1", "weather", '{"city":'),)
        assert response.finish_reason == "length"

    def test_what_is_new_is_passed_over(self) -> None:
        known = events(message(text("Hi")))
        new = {"type": "content_block_delta", "index": 0, "delta": {"type": "new_delta"}}
        citation = {"type": "content_block_delta", "index": 0, "delta": {"type": "citations_delta", "citation": {}}}

        _, response = feed(*known[:3], new, citation, {"type": "new_event"}, *known[3:])

        assert response == decode(message(text("Hi")))

    def test_the_last_count_of_tokens_stands(self) -> None:
        *first, delta, stop = events(message(text("Hi")))

        _, response = feed(*first, {**delta, "usage": {"output_tokens": 9, "input_tokens": 20}}, stop)

        assert response.usage == Usage(25, 9, 3, 2, 1)

    def test_a_count_that_is_left_out_later_stands(self) -> None:
        *first, delta, stop = events(message(text("Hi")))

        _, response = feed(*first, {**delta, "usage": {"output_tokens": 9, "input_tokens": None}}, stop)

        assert response.usage == Usage(16, 9, 3, 2, 1)

    def test_blocks_stand_where_their_numbers_say(self) -> None:
        begin, ping, *blocks, delta, stop = events(message(text("a"), text("b")))

        _, response = feed(begin, ping, *blocks[3:], *blocks[:3], delta, stop)

        assert [part.text for part in response.message.parts if isinstance(part, Text)] == ["a", "b"]

    @pytest.mark.parametrize("number", [None, "0", 7])
    def test_a_block_without_its_number_is_malformed(self, number: object) -> None:
        with pytest.raises(MalformedResponseError, match=r"an event of the stream is not in Anthropic.s format"):
            feed({"type": "content_block_delta", "index": number, "delta": {"type": "text_delta", "text": "a"}})

    def test_a_stream_with_impossible_usage_is_malformed(self) -> None:
        *first, delta, stop = events(message(text("Hi")))

        with pytest.raises(MalformedResponseError, match="the stream is not an Anthropic message"):
            feed(*first, {**delta, "usage": {"output_tokens": "many"}}, stop)

    def test_a_stream_that_breaks_off_is_no_answer(self) -> None:
        with pytest.raises(MalformedResponseError, match="m: the stream broke off before the answer ended"):
            feed(*events(message(text("Hi")))[:-2])

    @pytest.mark.parametrize(
        ("kind", "expected", "status"),
        [
            ("overloaded_error", RateLimitError, 529),
            ("rate_limit_error", RateLimitError, 429),
            ("api_error", ModelServerError, 500),
            ("timeout_error", ModelServerError, 504),
            ("authentication_error", AuthenticationError, 401),
            ("not_found_error", ModelNotFoundError, 404),
            ("invalid_request_error", ModelRequestError, 400),
            ("new_error", ModelServerError, 500),
        ],
    )
    def test_an_error_in_a_stream_is_typed(self, kind: str, expected: type[ModelError], status: int) -> None:
        with pytest.raises(expected, match=f"m: {kind}: too bad") as caught:
            feed(*events(message(text("Hi")))[:4], error(kind, "too bad"))

        assert type(caught.value) is expected
        assert (caught.value.status, caught.value.model) == (status, "m")
