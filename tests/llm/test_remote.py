"""What goes over the wire, and what comes back."""

from __future__ import annotations

import pytest

from tactician.errors import ContentFilterError
from tactician.llm import (
    AssistantMessage,
    Image,
    LanguageModel,
    LlmOptions,
    Message,
    ModelRequest,
    ModelResponse,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    Usage,
    UserMessage,
)
from tactician.llm.messages import SystemMessage
from tactician.llm.model import Delta, OutputSpec, TextDelta, ThinkingDelta, ToolCallDelta, ToolSpec
from tactician.llm.providers import PROVIDERS
from tactician.llm.remote import RemoteModel
from tests.support.chat_server import (
    ChatServer,
    answers,
    call,
    call_piece,
    chunk,
    completion,
    cut,
    sends,
    sse,
    streams,
    usage_chunk,
)

WEATHER = ToolSpec("weather", "The weather in a city.", {"type": "object", "properties": {"city": {"type": "string"}}})
USED = Usage(input_tokens=11, output_tokens=7, cache_read_tokens=3, requests=1)


def ask(*messages: Message | str, **details: object) -> ModelRequest:
    said = (UserMessage(message) if isinstance(message, str) else message for message in messages or ("hi",))
    return ModelRequest(tuple(said), **details)  # type: ignore[arg-type]  # details are a request's own fields


async def streamed(model: LanguageModel, request: ModelRequest) -> tuple[list[Delta], ModelResponse]:
    items = [item async for item in model.stream(request)]
    *deltas, last = items
    assert isinstance(last, ModelResponse)
    return [delta for delta in deltas if not isinstance(delta, ModelResponse)], last


class TestAnswers:
    async def test_text_usage_and_the_model_that_served_it(self, server: ChatServer) -> None:
        response = await server.model().generate(ask("hi"))

        assert response == ModelResponse(AssistantMessage((Text("hello"),)), USED, "stop", "served-model")
        assert response.usage.model == "test:test-model"

    async def test_several_tool_calls_in_order(self, server: ChatServer) -> None:
        calls = (call("1", "weather", '{"city":"Paris"}'), call("2", "weather", '{"city":"Rome"}'))
        server.will(answers(completion("Let me look.", *calls)))

        response = await server.model().generate(ask("hi", tools=(WEATHER,)))

        assert response.finish_reason == "tool_calls"
        assert response.message.text == "Let me look."
        assert response.message.tool_calls == (
            ToolCall("1", "weather", '{"city":"Paris"}'),
            ToolCall("2", "weather", '{"city":"Rome"}'),
        )

    async def test_thinking_comes_before_the_text(self, server: ChatServer) -> None:
        server.will(answers(completion("42", thinking="Six times seven")))

        message = (await server.model().generate(ask("hi"))).message

        assert message.parts == (Thinking("Six times seven"), Text("42"))

    async def test_a_refusal_is_text(self, server: ChatServer) -> None:
        body = completion()
        body["choices"] = [{"message": {"content": None, "refusal": "I will not"}, "finish_reason": "stop"}]
        server.will(answers(body))

        assert (await server.model().generate(ask("hi"))).message.text == "I will not"

    @pytest.mark.parametrize("nothing", [None, ""])
    async def test_an_answer_of_which_the_filter_left_nothing_is_an_error(
        self, server: ChatServer, nothing: str | None
    ) -> None:
        server.will(answers(completion(nothing, finish="content_filter")), streams(chunk("content_filter")))

        for asked in (server.model().generate(ask()), streamed(server.model(), ask())):
            with pytest.raises(ContentFilterError, match="test:test-model: the provider's filter blocked the answer"):
                await asked

    @pytest.mark.parametrize("finish", ["stop", "length", "tool_calls", "content_filter"])
    async def test_finish_reasons_are_passed_on(self, server: ChatServer, finish: str) -> None:
        server.will(answers(completion("x", finish=finish)), streams(chunk(content="x"), chunk(finish)))

        assert (await server.model().generate(ask())).finish_reason == finish
        assert (await streamed(server.model(), ask()))[1].finish_reason == finish

    async def test_an_unknown_finish_reason_counts_as_stop(self, server: ChatServer) -> None:
        server.will(answers(completion("x", finish="eos")))

        assert (await server.model().generate(ask())).finish_reason == "stop"

    async def test_an_answer_without_usage_still_counts_as_a_request(self, server: ChatServer) -> None:
        server.will(answers(completion("x", usage=None)), streams(chunk(content="x"), chunk("stop")))

        assert (await server.model().generate(ask())).usage == Usage(requests=1)
        assert (await streamed(server.model(), ask()))[1].usage == Usage(requests=1)

    async def test_a_tool_call_without_id_or_arguments_is_understood(self, server: ChatServer) -> None:
        """Some OpenAI-compatible servers leave out both."""
        server.will(answers(completion(None, {"type": "function", "function": {"name": "now"}})))

        calls = (await server.model().generate(ask(tools=(WEATHER,)))).message.tool_calls

        assert [(one.name, one.arguments) for one in calls] == [("now", "{}")]


class TestStreams:
    async def test_text_arrives_in_pieces_and_then_whole(self, server: ChatServer) -> None:
        server.will(streams(chunk(content="Hel"), chunk(content="lo"), chunk("stop"), usage_chunk()))

        deltas, response = await streamed(server.model(), ask("hi"))

        assert deltas == [TextDelta("Hel"), TextDelta("lo")]
        assert response == ModelResponse(AssistantMessage((Text("Hello"),)), USED, "stop", "served-model")
        assert response.usage.model == "test:test-model"

    async def test_thinking_arrives_in_pieces(self, server: ChatServer) -> None:
        server.will(streams(chunk(reasoning_content="Hm"), chunk(reasoning_content="m"), chunk("stop", content="Yes")))

        deltas, response = await streamed(server.model(), ask("hi"))

        assert deltas == [ThinkingDelta("Hm"), ThinkingDelta("m"), TextDelta("Yes")]
        assert response.message.parts == (Thinking("Hmm"), Text("Yes"))

    async def test_interleaved_fragments_of_tool_calls_are_put_together(self, server: ChatServer) -> None:
        fragments = [
            call_piece(0, id="a", name="weather"),
            call_piece(0, '{"city":'),
            call_piece(1, '{"city":"Ro', id="b", name="weather"),
            call_piece(0, '"Paris"}'),
            call_piece(1, 'me"}'),
        ]
        server.will(streams(*(chunk(tool_calls=[one]) for one in fragments), chunk("tool_calls")))

        deltas, response = await streamed(server.model(), ask("hi", tools=(WEATHER,)))

        assert deltas[0] == ToolCallDelta(0, "a", "weather", "")
        assert deltas[-1] == ToolCallDelta(1, "b", "weather", 'me"}')
        assert response.message.tool_calls == (
            ToolCall("a", "weather", '{"city":"Paris"}'),
            ToolCall("b", "weather", '{"city":"Rome"}'),
        )

    @pytest.mark.parametrize("newline", ["\n", "\r\n"])
    @pytest.mark.parametrize("size", [1, 2, 7])
    async def test_bytes_may_be_cut_anywhere(self, server: ChatServer, size: int, newline: str) -> None:
        data = sse(chunk(content="Grüße, "), chunk(content="世界 🌍"), chunk("stop"), newline=newline)
        server.will(sends(*cut(data, size)))

        deltas, response = await streamed(server.model(), ask("hi"))

        assert deltas == [TextDelta("Grüße, "), TextDelta("世界 🌍")]
        assert response.message.text == "Grüße, 世界 🌍"

    async def test_comments_and_other_fields_are_passed_over(self, server: ChatServer) -> None:
        data = b": keep-alive\n\nevent: message\nid: 7\nretry: 10\n" + sse(chunk(content="x"), chunk("stop"))
        server.will(sends(data))

        assert (await streamed(server.model(), ask("hi")))[1].message.text == "x"

    async def test_the_end_of_the_stream_completes_the_last_event(self, server: ChatServer) -> None:
        server.will(sends(sse(chunk("stop", content="x"), done=False).rstrip(b"\n")))

        assert (await streamed(server.model(), ask("hi")))[1].message.text == "x"

    async def test_asks_for_the_usage(self, server: ChatServer) -> None:
        server.will(streams(chunk("stop")))

        await streamed(server.model(), ask("hi"))

        assert server.bodies[0]["stream"] is True
        assert server.bodies[0]["stream_options"] == {"include_usage": True}


class TestRequests:
    async def test_a_whole_conversation(self, server: ChatServer) -> None:
        conversation = (
            SystemMessage("Be brief"),
            UserMessage("Weather?"),
            AssistantMessage((Thinking("a tool"), ToolCall("1", "weather", '{"city":"Paris"}'))),
            ToolResult("1", "weather", "sunny"),
            AssistantMessage((Text("Sunny."),)),
            UserMessage("Thanks"),
        )

        await server.model().generate(ModelRequest(conversation))

        assert server.bodies[0] == {
            "model": "test-model",
            "messages": [
                {"role": "system", "content": "Be brief"},
                {"role": "user", "content": "Weather?"},
                {"role": "assistant", "content": None, "tool_calls": [call("1", "weather", '{"city":"Paris"}')]},
                {"role": "tool", "tool_call_id": "1", "content": "sunny"},
                {"role": "assistant", "content": "Sunny."},
                {"role": "user", "content": "Thanks"},
            ],
        }

    async def test_pictures_are_urls_or_inline_data(self, server: ChatServer) -> None:
        pictures = (Image(url="https://example.com/a.png"), Image.from_bytes(b"\x89PNG", "image/jpeg"))

        await server.model().generate(ask(UserMessage((Text("What is this?"), *pictures))))

        assert server.bodies[0]["messages"] == [
            {
                "role": "user",
                "content": [
                    {"type": "text", "text": "What is this?"},
                    {"type": "image_url", "image_url": {"url": "https://example.com/a.png"}},
                    {"type": "image_url", "image_url": {"url": "data:image/jpeg;base64,iVBORw=="}},
                ],
            }
        ]

    async def test_tools(self, server: ChatServer) -> None:
        await server.model().generate(ask(tools=(WEATHER,)))

        function = {"name": "weather", "description": WEATHER.description, "parameters": WEATHER.parameters}
        assert server.bodies[0]["tools"] == [{"type": "function", "function": function}]
        assert "tool_choice" not in server.bodies[0]

    @pytest.mark.parametrize(
        ("choice", "encoded"),
        [
            ("none", "none"),
            ("required", "required"),
            ("weather", {"type": "function", "function": {"name": "weather"}}),
        ],
    )
    async def test_tool_choice(self, server: ChatServer, choice: str, encoded: object) -> None:
        await server.model().generate(ask(tools=(WEATHER,), tool_choice=choice))

        assert server.bodies[0]["tool_choice"] == encoded

    async def test_options_that_are_set(self, server: ChatServer) -> None:
        options = LlmOptions(temperature=0.0, top_p=0.5, top_k=3, max_tokens=9, seed=7, reasoning_effort="low")

        await server.model().generate(ask(options=options))

        sent = {name: value for name, value in server.bodies[0].items() if name not in ("model", "messages")}
        expected = {"temperature": 0.0, "top_p": 0.5, "top_k": 3, "max_tokens": 9, "seed": 7, "reasoning_effort": "low"}
        assert sent == expected

    @pytest.mark.parametrize(("provider", "field"), [("mistral", "random_seed"), ("grok", "seed"), ("gemini", None)])
    async def test_the_seed_has_the_name_that_a_provider_knows(
        self, provider: str, field: str | None, server: ChatServer
    ) -> None:
        await server.model(PROVIDERS[provider]).generate(ask(options=LlmOptions(seed=7)))

        assert [name for name, value in server.bodies[0].items() if value == 7] == ([] if field is None else [field])

    async def test_openai_wants_another_name_for_max_tokens(self, server: ChatServer) -> None:
        await server.model(PROVIDERS["openai"]).generate(ask(options=LlmOptions(max_tokens=9)))

        assert server.bodies[0]["max_completion_tokens"] == 9
        assert "max_tokens" not in server.bodies[0]

    @pytest.mark.parametrize("strict", [True, False])
    async def test_an_output_schema(self, server: ChatServer, strict: bool) -> None:
        schema = {"type": "object", "properties": {"x": {"type": "string", "minLength": 2}}}

        await server.model().generate(ask(output=OutputSpec("thing", schema, strict)))

        definition = {"name": "thing", "schema": schema} | ({"strict": True} if strict else {})
        assert server.bodies[0]["response_format"] == {"type": "json_schema", "json_schema": definition}

    async def test_openai_gets_no_keyword_that_it_refuses(self, server: ChatServer) -> None:
        properties = {
            "maxLength": {"type": "string", "maxLength": 5},
            "items": {"type": "array", "items": {"anyOf": [{"type": "string", "minLength": 1}, {"type": "null"}]}},
        }
        output = OutputSpec("thing", {"type": "object", "properties": properties})

        await server.model(PROVIDERS["openai"]).generate(ask(output=output))

        assert server.bodies[0]["response_format"] == {
            "type": "json_schema",
            "json_schema": {
                "name": "thing",
                "strict": True,
                "schema": {
                    "type": "object",
                    "properties": {
                        "maxLength": {"type": "string"},
                        "items": {"type": "array", "items": {"anyOf": [{"type": "string"}, {"type": "null"}]}},
                    },
                },
            },
        }


class TestAddressesAndKeys:
    @pytest.mark.parametrize(
        ("name", "path"),
        [
            ("openai", "/v1/chat/completions"),
            ("gemini", "/v1beta/openai/chat/completions"),
            ("azure-mistral", "/models/chat/completions?api-version=2026-01-01"),
            ("azure-grok", "/models/chat/completions?api-version=2026-01-01"),
        ],
    )
    async def test_paths_and_api_versions(self, server: ChatServer, name: str, path: str) -> None:
        await server.model(PROVIDERS[name]).generate(ask())

        assert server.received[0].path == path

    @pytest.mark.parametrize("suffix", ["", "/", "/v1", "/v1/"])
    async def test_a_base_url_may_end_in_v1_or_a_slash(self, server: ChatServer, suffix: str) -> None:
        endpoint = PROVIDERS["openai"].create_endpoint(None, server.url + suffix)

        await RemoteModel("m", endpoint).generate(ask())

        assert server.received[0].path == "/v1/chat/completions"

    @pytest.mark.parametrize("key", [None, "", " \n"])
    async def test_without_a_key_no_header_is_sent(self, server: ChatServer, key: str | None) -> None:
        await server.model(PROVIDERS["openai"], key=key).generate(ask())

        assert "authorization" not in server.received[0].headers

    async def test_white_space_around_a_key_is_not_part_of_it(self, server: ChatServer) -> None:
        """A key that was read from a file ends in a newline, which no header can carry."""
        await server.model(PROVIDERS["openai"], key=" sk-1\n").generate(ask())

        assert server.received[0].headers["authorization"] == "Bearer sk-1"


def test_a_model_says_where_it_runs_and_what_it_can_do() -> None:
    model = RemoteModel("claude-sonnet-4-7", PROVIDERS["anthropic"].create_endpoint("sk-1"))

    assert isinstance(model, LanguageModel)
    assert model.name == "anthropic:claude-sonnet-4-7"
    assert model.features.tools
    assert not model.features.temperature
