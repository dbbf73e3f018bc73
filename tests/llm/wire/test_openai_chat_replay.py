"""What providers that speak `openai-chat` want back as it was: Gemini's signatures, OpenRouter's reasoning details."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import TypeAlias

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tactician.errors import ModelRequestError
from tactician.llm import (
    AssistantMessage,
    Message,
    ModelRequest,
    ModelResponse,
    Text,
    ToolCall,
    ToolResult,
    UserMessage,
)
from tactician.llm.http import post_json
from tactician.llm.messages import ProviderItem, messages_from_json, messages_to_json
from tactician.llm.model import ThinkingDelta, ToolCallDelta
from tactician.llm.model_profiles import parse_profiles
from tactician.llm.remote import RemoteModel
from tactician.llm.wire.openai_chat import FORMAT, ChatStreamDecoder, decode
from tests.support.chat_server import answers, call, call_piece, chunk, completion, streams
from tests.support.strict_servers import SITES, StrictServer

Body: TypeAlias = dict[str, object]
Ask: TypeAlias = Callable[..., Awaitable[ModelResponse]]
GEMINI_3 = "gemini-3-flash-preview"
ASKED = UserMessage("Which is warmer, Paris or Rome?")
CALLED = (ToolCall("a", "weather", '{"city":"Paris"}'), ToolCall("b", "weather", '{"city":"Rome"}'))
CHAT_SITES = [name for name, site in SITES.items() if site.provider.wire.name == "openai-chat"]


def signature(value: str) -> Body:
    return {"extra_content": {"google": {"thought_signature": value}}}


def spoken(*details: Mapping[str, object]) -> Body:
    """A completion of OpenRouter's, with what the model thought."""
    body = completion(None, call("a", "weather"), thinking="Let me see")
    choices = body["choices"]
    assert isinstance(choices, list)
    choices[0]["message"]["reasoning_details"] = list(details)
    return body


SIGNED: Body = {"type": "reasoning.text", "text": "Let me see", "signature": "signed Let me see", "index": 0}
HIDDEN: Body = {"type": "reasoning.encrypted", "data": "eNcR", "id": "a", "index": 0}


async def whole(model: RemoteModel, *messages: Message) -> ModelResponse:
    return await model.generate(ModelRequest(messages))


async def in_pieces(model: RemoteModel, *messages: Message) -> ModelResponse:
    items = [item async for item in model.stream(ModelRequest(messages))]
    assert isinstance(items[-1], ModelResponse)
    return items[-1]


def results(message: AssistantMessage) -> list[ToolResult]:
    return [ToolResult(one.id, one.name, "sunny") for one in message.tool_calls]


def replayed(server: StrictServer, request: int = -1) -> Body:
    """The model's own message in the last request, or another one."""
    messages = server.bodies[request]["messages"]
    assert isinstance(messages, list)
    found = next(one for one in messages if one["role"] == "assistant")
    assert isinstance(found, dict)
    return found


def said_by(*chunks: object) -> ModelResponse:
    decoder = ChatStreamDecoder("m")
    for one in chunks:
        list(decoder.feed(json.dumps(one)))
    return decoder.response()


class TestGemini:
    """Google's page "Thought signatures", OpenAI compatibility."""

    @pytest.mark.parametrize("ask", [whole, in_pieces])
    async def test_signatures_go_back_with_their_calls(self, ask: Ask) -> None:
        first, second = (call(one.id, one.name, one.arguments) for one in CALLED)
        body = completion(None, {**first, **signature("s1")}, {**second, **signature("s2")})
        pieces = [chunk(tool_calls=[{**first, **signature("s1")}]), chunk(tool_calls=[{**second, **signature("s2")}])]
        async with StrictServer(SITES["gemini"]) as server:
            model = server.serve(GEMINI_3)
            server.will(answers(body) if ask is whole else streams(*pieces, chunk("stop")), answers(completion("Rome")))
            message = (await ask(model, ASKED)).message

            stored = messages_from_json(messages_to_json([ASKED, message, *results(message)]))

            assert (await whole(model, *stored)).message.text == "Rome"
            assert message.tool_calls == CALLED
            assert replayed(server)["tool_calls"] == [{**first, **signature("s1")}, {**second, **signature("s2")}]

    async def test_the_fake_refuses_a_call_that_is_not_signed(self) -> None:
        async with StrictServer(SITES["gemini"]) as server:
            endpoint = server.serve(GEMINI_3).endpoint
            unsigned = {"role": "assistant", "content": None, "tool_calls": [call("a", "weather")]}
            messages = [unsigned, {"role": "tool", "tool_call_id": "a", "content": "sunny"}]

            with pytest.raises(ModelRequestError, match="missing a thought_signature"):
                await post_json(endpoint.url, {"model": GEMINI_3, "messages": messages}, endpoint.headers, 5, "m")

    async def test_what_another_model_called_gets_the_signature_that_stands_for_none(self) -> None:
        async with StrictServer(SITES["gemini"]) as server:
            foreign = AssistantMessage(CALLED)

            for model in (GEMINI_3, "gemini-2.5-flash"):
                await whole(server.serve(model), ASKED, foreign, *results(foreign))

            first, second = (call(one.id, one.name, one.arguments) for one in CALLED)
            skip = signature("skip_thought_signature_validator")
            assert replayed(server, 0)["tool_calls"] == [{**first, **skip}, second]
            assert replayed(server)["tool_calls"] == [first, second]

    async def test_a_signature_that_is_refused_is_left_out(self) -> None:
        message = decode(completion(None, {**call("a", "weather"), **signature("of somebody else")})).message
        async with StrictServer(SITES["gemini"]) as server:
            for ask in (whole, in_pieces):
                response = await ask(server.serve(GEMINI_3), ASKED, message, *results(message))

                assert response.message.text == "hello"
                assert replayed(server)["tool_calls"] == [
                    {**call("a", "weather"), **signature("skip_thought_signature_validator")}
                ]

    async def test_a_signed_text_goes_back_signed(self) -> None:
        body = completion("Rome")
        body["choices"] = [{"message": {"content": "Rome", **signature("s")}, "finish_reason": "stop"}]
        message = decode(body).message
        pieces = (chunk(content="Rome"), chunk("stop", **signature("s")))
        async with StrictServer(SITES["gemini"]) as server:
            await whole(server.serve(), ASKED, message)

            assert said_by(*pieces).message == message
            assert replayed(server) == {"role": "assistant", "content": "Rome", **signature("s")}

    async def test_a_call_that_is_gone_takes_its_signature_with_it(self) -> None:
        message = decode(completion("Rome", {**call("a", "weather"), **signature("s")})).message
        changed = AssistantMessage(tuple(part for part in message.parts if not isinstance(part, ToolCall)))
        async with StrictServer(SITES["gemini"]) as server:
            await whole(server.serve(), ASKED, changed)

            assert replayed(server) == {"role": "assistant", "content": "Rome"}

    @pytest.mark.parametrize("index", [{}, {"index": 0}])
    def test_calls_that_are_not_numbered_are_told_apart_by_their_ids(self, index: Body) -> None:
        calls = [{**call(one.id, one.name, one.arguments), **index} for one in CALLED]
        decoder = ChatStreamDecoder()

        deltas = [delta for one in calls for delta in decoder.feed(json.dumps(chunk(tool_calls=[one])))]
        list(decoder.feed(json.dumps(chunk("stop"))))

        assert deltas == [ToolCallDelta(n, one.id, one.name, one.arguments) for n, one in enumerate(CALLED)]
        assert decoder.response().message.tool_calls == CALLED

    def test_the_pieces_of_a_call_that_is_not_numbered_belong_to_the_last_one(self) -> None:
        named = [{"id": "a", "function": {"name": "f", "arguments": '{"x":'}}, {"function": {"arguments": "1}"}}]
        nameless = [{"function": {"name": "g", "arguments": "{}"}}, {"function": {"name": "h"}}, signature("s")]

        message = said_by(*(chunk(tool_calls=[one]) for one in (*named, *nameless)), chunk("stop")).message

        assert message.tool_calls == (ToolCall("a", "f", '{"x":1}'), ToolCall("", "g"), ToolCall("", "h"))
        assert message.parts[-1] == ProviderItem(
            FORMAT, json.dumps({"tool_call_id": ""} | signature("s")).replace(" ", "")
        )

    def test_a_name_that_is_repeated_is_not_another_call(self) -> None:
        pieces = [call_piece(0, '{"x":', id="a", name="f"), call_piece(0, "1}", name="f"), call_piece(0, "", "a", "f")]

        message = said_by(*(chunk(tool_calls=[one]) for one in pieces), chunk("stop")).message

        assert message.parts == (ToolCall("a", "f", '{"x":1}'),)


class TestOpenRouter:
    """OpenRouter's page "Reasoning tokens", preserving reasoning."""

    @pytest.mark.parametrize("ask", [whole, in_pieces])
    async def test_details_go_back_as_they_were(self, ask: Ask) -> None:
        pieces = [
            {"type": "reasoning.text", "text": "Let me", "index": 0, "signature": None},
            {"type": "reasoning.text", "text": " see", "index": 0},
            {"type": "reasoning.text", "signature": "signed Let me see", "index": 0},
            {"type": "reasoning.text", "text": "", "index": 0, "signature": None},
            HIDDEN,
        ]
        streamed = [chunk(reasoning=one.get("text") or "", reasoning_details=[one]) for one in pieces]
        streamed += [chunk(tool_calls=[call_piece(0, "{}", "a", "weather")]), chunk("tool_calls")]
        async with StrictServer(SITES["openrouter"]) as server:
            server.will(
                answers(spoken(SIGNED, HIDDEN)) if ask is whole else streams(*streamed), answers(completion("Rome"))
            )
            message = (await ask(server.serve(), ASKED)).message

            response = await whole(server.serve(), ASKED, message, *results(message))

            assert (response.message.text, message.thinking) == ("Rome", "Let me see")
            assert replayed(server)["reasoning_details"] == [SIGNED, HIDDEN]

    async def test_thinking_that_is_refused_is_left_out(self) -> None:
        """A signature of another model's, after a fallback."""
        message = decode(spoken({**SIGNED, "signature": "of somebody else"})).message
        async with StrictServer(SITES["openrouter"]) as server:
            for ask in (whole, in_pieces):
                response = await ask(server.serve(), ASKED, message, *results(message))

                assert response.message.text == "hello"
                assert "reasoning_details" not in replayed(server)

    def test_thinking_is_told_once(self) -> None:
        decoder = ChatStreamDecoder()

        deltas = decoder.feed(json.dumps(chunk(reasoning="Hm", reasoning_details=[SIGNED])))

        assert list(deltas) == [ThinkingDelta("Hm")]


DETAILS = st.one_of(
    st.fixed_dictionaries({"type": st.just("reasoning.text"), "text": st.text(max_size=9), "signature": st.text()}),
    st.fixed_dictionaries({"type": st.just("reasoning.summary"), "summary": st.text(max_size=9), "id": st.none()}),
    st.fixed_dictionaries({"type": st.just("reasoning.encrypted"), "data": st.text()}),
    st.fixed_dictionaries({"type": st.just("reasoning.of-tomorrow"), "text": st.text()}),
)


@given(st.lists(DETAILS, min_size=1, max_size=4), st.integers(1, 4), st.booleans())
def test_details_in_pieces_are_those_of_the_whole(details: Sequence[Body], size: int, together: bool) -> None:
    numbered = [{**detail, "index": place} for place, detail in enumerate(details)]
    pieces: list[Body] = []
    for detail in numbered:
        name = {"reasoning.text": "text", "reasoning.summary": "summary"}.get(str(detail["type"]))
        text = str(detail.get(name or "") or "")
        kind = {"type": detail["type"], "index": detail["index"]}
        pieces += [{**kind, name or "": text[start : start + size]} for start in range(0, len(text), size)]
        pieces.append(detail if name is None else {**detail, name: None})
    chunks = [chunk(reasoning_details=pieces)] if together else [chunk(reasoning_details=[one]) for one in pieces]

    (item,) = said_by(*chunks, chunk("stop")).message.parts

    assert isinstance(item, ProviderItem)
    assert json.loads(item.data) == {"reasoning_details": numbered}


@pytest.mark.parametrize("name", CHAT_SITES)
async def test_nobody_gets_what_another_provider_wants_back(name: str) -> None:
    """The fakes refuse every field of a message and a call that they do not know."""
    signed = decode(completion(None, {**call("callnr001", "weather"), **signature("s")})).message
    details = decode(spoken(SIGNED)).message
    garbage = (ProviderItem(FORMAT, "{"), ProviderItem(FORMAT, "7"), ProviderItem("else", '{"extra_content":1}'))
    async with StrictServer(SITES[name]) as server:
        spoiled = AssistantMessage((Text("x"), *garbage))
        messages: list[Message] = [ASKED, signed, *results(signed), details, *results(details), spoiled]

        assert (await whole(server.serve(), *messages)).message.text == "hello"
        sent = server.bodies[-1]["messages"]
        assert isinstance(sent, list)
        assert [message for message in sent if message["role"] == "assistant"][-1] == {
            "role": "assistant",
            "content": "x",
        }


def test_a_provider_of_ones_own_says_what_it_wants_back() -> None:
    provider = SITES["custom-chat"].provider
    profiles = parse_profiles([{"match": "m", "replayed": ["extra_content"]}])
    endpoint = provider.create_endpoint("k", "http://x", model="m", profiles=profiles)
    message = decode(completion(None, {**call("a", "f"), **signature("s")})).message

    body = endpoint.wire.encode(ModelRequest((message,)), "m", endpoint.dialect)

    assert body["messages"] == [{"role": "assistant", "content": None, "tool_calls": [call("a", "f") | signature("s")]}]
