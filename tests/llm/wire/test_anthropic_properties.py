"""Whatever was said, Anthropic takes it; however an answer is cut, it is the same answer."""

from __future__ import annotations

import json
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tactician.errors import ContentFilterError, MalformedResponseError, ModelError
from tactician.llm import (
    AssistantMessage,
    Document,
    Image,
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
from tactician.llm.messages import ProviderItem, SystemMessage, messages_from_json, messages_to_json
from tactician.llm.model import Delta, OutputSpec, TextDelta, ThinkingDelta, ToolCallDelta, ToolSpec
from tactician.llm.wire.anthropic_messages import FORMAT, MessagesStreamDecoder, decode, encode
from tactician.llm.wire.sse import SseDecoder
from tests.support.anthropic_rules import check
from tests.support.anthropic_server import (
    BETA,
    DIALECTS,
    KEY,
    Block,
    events,
    found,
    message,
    redacted,
    searching,
    sse,
    text,
    thinking,
    tool_use,
)
from tests.support.chat_server import cut

WORDS = st.text(max_size=8)
IDS = st.sampled_from(["a", "b", "a_2", "", "functions.weather:0", "ü"])
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | WORDS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(WORDS, inner, max_size=3),
    max_leaves=8,
)
ARGUMENTS = st.dictionaries(WORDS, JSON, max_size=3).map(json.dumps) | WORDS | JSON.map(json.dumps)
UNFINISHED = st.builds(
    lambda paused, container: {"type": "unfinished_turn", "paused": paused, "container": container},
    st.booleans(),
    st.sampled_from(["", "container_1"]),
)
ITEMS = (
    st.sampled_from([searching("s1", "q"), found("s1"), searching("s2", "q"), found("s2"), redacted()]) | UNFINISHED
).map(lambda block: ProviderItem(FORMAT, json.dumps(block)))
FOREIGN = st.sampled_from([("openai-responses", "{}"), (FORMAT, "[1"), (FORMAT, "1")]).map(
    lambda one: ProviderItem(*one)
)
PICTURES = st.sampled_from(
    [Image(url="https://example.com/a.png"), Image(data="aQ=="), Image(url="data:image/gif;base64,aQ==")]
)
DOCUMENTS = st.sampled_from(
    [Document(data="aQ=="), Document(url="https://example.com/a"), Document(data="aQ==", media_type="text/csv")]
)
MESSAGES = st.one_of(
    st.builds(SystemMessage, WORDS),
    st.builds(UserMessage, WORDS | st.lists(st.builds(Text, WORDS) | PICTURES | DOCUMENTS, max_size=3).map(tuple)),
    st.builds(
        AssistantMessage,
        st.lists(
            st.builds(Text, WORDS)
            | st.builds(Thinking, WORDS, st.none() | st.just("sig"))
            | st.builds(ToolCall, IDS, st.sampled_from(["weather", "functions.weather", ""]), ARGUMENTS)
            | ITEMS
            | FOREIGN,
            max_size=5,
        ).map(tuple),
    ),
    st.builds(ToolResult, IDS, st.sampled_from(["weather", ""]), WORDS, st.booleans()),
)
CONVERSATIONS = st.lists(MESSAGES, max_size=8).map(tuple)
OPEN_SCHEMA = {"type": "object", "additionalProperties": {"type": "integer"}}
BELOW = {"type": "array", "items": {"$ref": "#/$defs/Tree"}}
TREE = {"$defs": {"Tree": {"type": "object", "properties": {"below": BELOW}}}, "$ref": "#/$defs/Tree"}
PLAIN = {"type": "object", "properties": {"x": {"type": "string", "minLength": 1}}, "additionalProperties": False}
OUTPUTS = st.sampled_from(
    [None, OutputSpec("plain", PLAIN), OutputSpec("open", OPEN_SCHEMA, strict=False), OutputSpec("tree", TREE)]
)
TOOLS = st.sampled_from([(), (ToolSpec("weather", "", {}),), (ToolSpec("weather", "w", OPEN_SCHEMA),)])
EFFORTS = st.sampled_from([None, "none", "enabled", "minimal", "low", "medium", "high", "xhigh", "max"])
OPTIONS = st.builds(
    LlmOptions,
    temperature=st.none() | st.floats(0, 2),
    top_p=st.none() | st.floats(0, 1),
    top_k=st.none() | st.integers(1, 9),
    max_tokens=st.none() | st.integers(1, 9000),
    reasoning_effort=EFFORTS,
    native_tools=st.sampled_from([(), ("web_search",), ("code_interpreter", "web_search")]),
)


@st.composite
def requests(draw: st.DrawFn) -> ModelRequest:
    tools = draw(TOOLS)
    choices = ["auto", "none", "required", "weather"] if tools else ["auto", "none"]
    return ModelRequest(draw(CONVERSATIONS), tools, draw(st.sampled_from(choices)), draw(OUTPUTS), draw(OPTIONS))


@given(requests(), st.sampled_from(sorted(DIALECTS)), st.booleans())
def test_anthropic_takes_any_conversation(request: ModelRequest, model: str, stream: bool) -> None:
    body = encode(request, model, DIALECTS[model], stream=stream)

    check({"x-api-key": KEY, "anthropic-version": "2023-06-01", "anthropic-beta": BETA}, json.loads(json.dumps(body)))


@given(CONVERSATIONS)
def test_what_was_stored_is_encoded_as_what_was_said(conversation: tuple[Message, ...]) -> None:
    stored = messages_from_json(messages_to_json(conversation))

    assert encode(ModelRequest(stored), "m") == encode(ModelRequest(conversation), "m")


# Answers.

BLOCKS = st.one_of(
    st.builds(text, WORDS),
    st.builds(thinking, WORDS, st.sampled_from(["", "sig"])),
    st.builds(redacted, WORDS),
    st.builds(tool_use, st.sampled_from(["1", "2"]), st.just("weather"), st.dictionaries(WORDS, JSON, max_size=2)),
    st.builds(searching, st.just("s1"), WORDS),
    st.builds(found, st.just("s1"), WORDS),
)
STOPS = st.sampled_from(["end_turn", "max_tokens", "stop_sequence", "tool_use", "pause_turn", "new_reason"])
USAGES = st.dictionaries(
    st.sampled_from(["input_tokens", "output_tokens", "cache_read_input_tokens", "cache_creation_input_tokens"]),
    st.integers(0, 99),
)
ANSWERS = st.builds(
    lambda blocks, stop, usage, container: message(*blocks, stop=stop, usage=usage, container=container),
    st.lists(BLOCKS, max_size=5),
    STOPS,
    USAGES,
    st.none() | st.just("container_1"),
)


def streamed(data: bytes, size: int) -> tuple[list[Delta], ModelResponse]:
    reader, decoder = SseDecoder(), MessagesStreamDecoder("m")
    deltas = [delta for piece in cut(data, size) for event in reader.feed(piece) for delta in decoder.feed(event)]
    return deltas, decoder.response()


@given(ANSWERS, st.integers(1, 9), st.integers(1, 300))
def test_a_stream_gives_the_response_that_the_whole_answer_gives(
    body: dict[str, object], pieces: int, size: int
) -> None:
    assert streamed(sse(*events(body, pieces)), size)[1] == decode(body)


@given(ANSWERS, st.integers(1, 9))
def test_the_deltas_add_up_to_the_response(body: dict[str, object], pieces: int) -> None:
    deltas, response = streamed(sse(*events(body, pieces)), 1000)

    assert "".join(one.text for one in deltas if isinstance(one, TextDelta)) == response.message.text
    assert "".join(one.text for one in deltas if isinstance(one, ThinkingDelta)) == response.message.thinking
    for index, call in enumerate(response.message.tool_calls):
        own = [one for one in deltas if isinstance(one, ToolCallDelta) and one.index == index]
        assert {(one.id, one.name) for one in own} == {(call.id, call.name)}
        assert json.loads("".join(one.arguments for one in own)) == json.loads(call.arguments)


@given(ANSWERS)
def test_an_answer_survives_being_sent_back(body: dict[str, object]) -> None:
    """All but what says nothing: empty texts, and thinking that led to nothing."""
    response = decode(body)

    sent = encode(ModelRequest((UserMessage("hi"), response.message, UserMessage("go on"))), "m")["messages"]

    assert isinstance(sent, list)
    back = [block for turn in sent if turn["role"] == "assistant" for block in turn["content"]]
    assert [block for block in back if block["type"] == "tool_use"] == distinct(
        [block for block in blocks_of(body) if block["type"] == "tool_use"]
    )
    assert all(block in blocks_of(body) for block in back if block["type"] != "tool_use")


def blocks_of(body: dict[str, object]) -> list[Block]:
    content = body["content"]
    assert isinstance(content, list)
    return content


def distinct(calls: list[Block]) -> list[Block]:
    """The calls with ids as they are sent: each of them once."""
    seen: list[str] = []
    for call in calls:
        taken = [one for one in seen if one.partition("_")[0] == call["id"]]
        seen.append(f"{call['id']}_{len(taken) + 1}" if taken else str(call["id"]))
    return [{**call, "id": own} for call, own in zip(calls, seen, strict=True)]


@st.composite
def damaged(draw: st.DrawFn, value: object) -> object:
    """The value with something else in one place."""
    if isinstance(value, dict) and value and draw(st.integers(0, 4)):
        name = draw(st.sampled_from(sorted(value)))
        return {**value, name: draw(damaged(value[name]))}
    if isinstance(value, list) and value and draw(st.integers(0, 4)):
        place = draw(st.integers(0, len(value) - 1))
        return [*value[:place], draw(damaged(value[place])), *value[place + 1 :]]
    return draw(JSON)


@given(ANSWERS, JSON)
def test_a_refusal_is_always_an_error(body: dict[str, object], details: object) -> None:
    with pytest.raises(ContentFilterError, match="refused"):
        decode({**body, "stop_reason": "refusal", "stop_details": details})


@given(JSON | ANSWERS.flatmap(damaged))
def test_a_body_that_is_no_message_is_malformed(body: object) -> None:
    with suppress(MalformedResponseError):
        decode(body, "m")


@given(st.lists(JSON | ANSWERS.flatmap(lambda body: st.sampled_from(events(body))).flatmap(damaged), max_size=6))
def test_a_stream_of_anything_ends_in_a_typed_error_or_an_answer(given: list[object]) -> None:
    decoder = MessagesStreamDecoder("m")
    with suppress(ModelError):
        for event in given:
            list(decoder.feed(json.dumps(event)))
        decoder.response()


@pytest.mark.parametrize("data", ["", "[DONE]", "{", "null", '{"type":"content_block_stop","index":7}'])
def test_half_an_event_is_malformed_or_nothing(data: str) -> None:
    decoder = MessagesStreamDecoder("m")
    with suppress(MalformedResponseError):
        assert list(decoder.feed(data)) == []
    with pytest.raises(MalformedResponseError, match="broke off"):
        decoder.response()
