"""Any conversation is taken by the strict servers; no JSON breaks a decoder; streams may be cut anywhere."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tactician.errors import MalformedResponseError, ModelError
from tactician.llm import (
    AssistantMessage,
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
from tactician.llm.model import OutputSpec, ToolSpec
from tactician.llm.schema import close_schema
from tactician.llm.wire.dialect import EFFORTS
from tactician.llm.wire.formats import WIRE_FORMATS
from tactician.llm.wire.sse import SseDecoder
from tests.support.rules import Refused
from tests.support.strict_servers import SITES
from tests.support.voices import VOICES, Saying

OPENAI_SITES = [name for name, site in SITES.items() if site.provider.wire.name != "anthropic-messages"]
MODELS = {
    "openai": ("gpt-4.1", "gpt-5", "gpt-5.4", "o3-mini"),
    "azure-openai": ("gpt-4o", "gpt-5.2", "o4-mini"),
    "mistral": ("mistral-small-latest", "magistral-medium-latest", "codestral-latest"),
    "grok": ("grok-3", "grok-3-mini", "grok-4", "grok-4.3", "grok-code-fast-1"),
    "deepseek": ("deepseek-chat", "deepseek-reasoner", "deepseek-v4-flash"),
    "gemini": ("gemini-2.0-flash", "gemini-2.5-pro", "gemini-3-flash-preview"),
}
WORDS = st.text(max_size=12)
SCHEMA: dict[str, object] = {"type": "object", "properties": {"q": {"type": "string", "default": "x"}}}
TOOLS = (ToolSpec("loose", "A tool.", SCHEMA), ToolSpec("strict", "A tool.", close_schema(SCHEMA)))
ENCRYPTED = '{"type":"reasoning","id":"rs_1","summary":[],"encrypted_content":"e"}'
KEPT_NOWHERE = '{"type":"reasoning","id":"rs_2","summary":[]}'
ITEMS = st.builds(
    ProviderItem,
    st.sampled_from(["openai-responses", "anthropic-messages"]),
    st.sampled_from([ENCRYPTED, KEPT_NOWHERE]),
)


@st.composite
def exchanges(draw: st.DrawFn) -> list[Message]:
    """A question, the calls that it led to, each with its result, and the answer."""
    messages: list[Message] = [UserMessage(draw(WORDS))]
    if names := draw(st.lists(st.sampled_from(["loose", "strict"]), max_size=3)):
        ids = draw(st.lists(st.text(min_size=1, max_size=12), min_size=len(names), max_size=len(names), unique=True))
        calls = [ToolCall(key, name, json.dumps({"q": draw(WORDS)})) for key, name in zip(ids, names, strict=True)]
        said = draw(st.lists(st.builds(Text, WORDS) | st.builds(Thinking, WORDS) | ITEMS, max_size=2))
        messages.append(AssistantMessage((*said, *calls)))
        messages += [ToolResult(call.id, call.name, draw(WORDS), draw(st.booleans())) for call in calls]
    parts = draw(st.lists(st.builds(Text, WORDS) | st.builds(Thinking, WORDS) | ITEMS, max_size=3))
    return [*messages, AssistantMessage(tuple(parts))]


@st.composite
def requests(draw: st.DrawFn) -> ModelRequest:
    systems: list[Message] = [SystemMessage(text) for text in draw(st.lists(WORDS, max_size=2))]
    turns = [message for exchange in draw(st.lists(exchanges(), max_size=3)) for message in exchange]
    options = LlmOptions(
        temperature=draw(st.none() | st.floats(0, 1)),
        top_p=draw(st.none() | st.floats(0.1, 1)),
        top_k=draw(st.none() | st.integers(1, 50)),
        max_tokens=draw(st.none() | st.integers(16, 4096)),
        reasoning_effort=draw(st.none() | st.sampled_from([*EFFORTS, "enabled"])),
    )
    return ModelRequest(
        (*systems, *turns, UserMessage(draw(WORDS))),
        tools=TOOLS,
        tool_choice=draw(st.sampled_from(["auto", "none", "required", "strict"])),
        output=OutputSpec("thing", close_schema(SCHEMA)) if draw(st.booleans()) else None,
        options=options,
    )


@pytest.mark.parametrize("name", OPENAI_SITES)
@given(request=requests(), stream=st.booleans())
def test_any_conversation_is_taken(name: str, request: ModelRequest, stream: bool) -> None:
    site = SITES[name]
    for model in (site.model, *MODELS.get(name, ())):
        made = site.provider.create_endpoint("k", "https://x", model=model)
        asked = request if made.features.json_schema else ModelRequest(request.messages, options=request.options)
        body = made.wire.encode(asked, model, made.dialect, stream=stream)
        try:
            site.rules(model, json.loads(json.dumps(body)))
        except Refused as refusal:
            pytest.fail(f"{model}: {refusal}")


@given(requests())
def test_a_conversation_is_encoded_the_same_after_it_was_stored(request: ModelRequest) -> None:
    stored = ModelRequest(messages_from_json(messages_to_json(request.messages)))
    for wire in WIRE_FORMATS.values():
        if wire.name.startswith("openai"):
            assert wire.encode(stored, "gpt-5", SITES["openai"].provider.dialect) == wire.encode(
                ModelRequest(request.messages), "gpt-5", SITES["openai"].provider.dialect
            )


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)


@st.composite
def spoilt(draw: st.DrawFn, value: object) -> object:
    """The value, with anything in the place of a part of it."""
    if draw(st.integers(0, 5)) == 0:
        return draw(JSON)
    if isinstance(value, dict):
        kept = {key: inner for key, inner in value.items() if draw(st.integers(0, 9))}
        return {key: draw(spoilt(inner)) for key, inner in kept.items()}
    return [draw(spoilt(inner)) for inner in value] if isinstance(value, list) else value


SAYING = Saying("text", "thinking", (ToolCall("c1", "f", '{"a":1}'),))


def only_typed_errors(decode: Callable[[], object], body: object) -> None:
    """What says that it is an error may be raised as one; all else is malformed or an answer."""
    try:
        decode()
    except MalformedResponseError:
        pass
    except ModelError:
        assert "error" in str(body) or "failed" in str(body) or "cancelled" in str(body)


@pytest.mark.parametrize("name", ["openai-chat", "openai-responses"])
@given(data=st.data())
def test_no_json_breaks_a_decoder(name: str, data: st.DataObject) -> None:
    body = data.draw(JSON | spoilt(VOICES[name].whole(SAYING)))

    only_typed_errors(lambda: WIRE_FORMATS[name].decode(body, "m"), body)


@pytest.mark.parametrize("name", ["openai-chat", "openai-responses"])
@given(data=st.data())
def test_no_event_breaks_a_stream(name: str, data: st.DataObject) -> None:
    decoder = WIRE_FORMATS[name].stream_decoder("m")
    for text in SseDecoder().feed(VOICES[name].stream(SAYING)):
        event = None if text == "[DONE]" else data.draw(spoilt(json.loads(text)))
        only_typed_errors(lambda event=event: list(decoder.feed(json.dumps(event))), event)  # type: ignore[misc]
    with suppress(ModelError):
        assert isinstance(decoder.response(), ModelResponse)


@pytest.mark.parametrize("name", ["openai-chat", "openai-responses"])
@given(saying=st.builds(Saying, WORDS, WORDS, st.just(SAYING.calls)), places=st.lists(st.integers(0, 4000), max_size=9))
def test_a_stream_may_be_cut_anywhere(name: str, saying: Saying, places: list[int]) -> None:
    wire, content = WIRE_FORMATS[name], VOICES[name].stream(saying)
    cuts = sorted({min(place, len(content)) for place in places})
    pieces = [content[start:end] for start, end in zip([0, *cuts], [*cuts, len(content)], strict=True)]

    def decoded(chunks: list[bytes]) -> tuple[list[object], ModelResponse]:
        events, decoder = SseDecoder(), wire.stream_decoder("m")
        deltas: list[object] = [d for chunk in chunks for text in events.feed(chunk) for d in decoder.feed(text)]
        return deltas, decoder.response()

    assert decoded(pieces) == decoded([content])
    assert decoded([content])[1] == wire.decode(VOICES[name].whole(saying), "m")
