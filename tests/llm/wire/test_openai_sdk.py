"""The official SDK says the same: it sends the same bodies, and it understands the same answers."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from typing import Any

import openai
import pytest
from openai.types.chat import ChatCompletion
from openai.types.responses import Response
from pydantic import BaseModel

from tactician.llm import (
    AssistantMessage,
    Document,
    Image,
    LlmOptions,
    Message,
    ModelRequest,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    UserMessage,
)
from tactician.llm.messages import ProviderItem, SystemMessage
from tactician.llm.model import OutputSpec, ToolSpec
from tactician.llm.providers import PROVIDERS
from tactician.llm.schema import close_schema
from tactician.llm.wire import Dialect
from tactician.llm.wire.openai_chat import OPENAI_CHAT
from tactician.llm.wire.openai_responses import OPENAI_RESPONSES
from tactician.llm.wire.wire_format import WireFormat
from tests.support.chat_server import ChatServer, answers, sends
from tests.support.strict_servers import KEY, SITES, StrictServer
from tests.support.voices import VOICES, Saying, output_message, reasoning, response, says

SCHEMA: dict[str, object] = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
LOOSE = ToolSpec("weather", "The weather in a city.", SCHEMA)
STRICT = ToolSpec("find", "Finds a city.", close_schema(SCHEMA))


class City(BaseModel):
    name: str
    country: str


CITY = OutputSpec("City", close_schema(City.model_json_schema()))
PICTURE, PAPER = Image.from_bytes(b"\x89PNG\r\n\x1a\n"), Document.from_bytes(b"%PDF", name="a.pdf")
DATA, PDF = "data:image/png;base64,iVBORw0KGgo=", "data:application/pdf;base64,JVBERg=="
CONVERSATION: tuple[Message, ...] = (
    SystemMessage("Be brief."),
    UserMessage("Weather?"),
    AssistantMessage((Thinking("A tool."), Text("Let me look."), ToolCall("c1", "weather", '{"city":"Rome"}'))),
    ToolResult("c1", "weather", "sunny"),
    UserMessage("Thanks"),
)


@pytest.fixture
async def server() -> AsyncIterator[ChatServer]:
    async with ChatServer(says(VOICES["openai-chat"], Saying("hello"))) as running:
        yield running


@pytest.fixture
async def sdk(server: ChatServer) -> AsyncIterator[openai.AsyncOpenAI]:
    async with openai.AsyncOpenAI(api_key=KEY, base_url=f"{server.url}/v1", max_retries=0) as client:
        yield client


def ask(*messages: Message, **details: object) -> ModelRequest:
    return ModelRequest(messages or (UserMessage("hi"),), **details)  # type: ignore[arg-type]


def ours(wire: WireFormat, model: str, request: ModelRequest, *, stream: bool = False) -> Mapping[str, object]:
    made = PROVIDERS["openai"].create_endpoint(None, model=model)
    return wire.encode(request, model, made.dialect, stream=stream)


HI: Any = {"role": "user", "content": "hi"}
_FUNCTION = {"name": "weather", "description": "The weather in a city.", "parameters": SCHEMA}
_FORMAT = {"name": "City", "schema": CITY.schema, "strict": True}
CHAT: Mapping[str, tuple[ModelRequest, dict[str, Any]]] = {
    "text": (ask(), {"messages": [HI]}),
    "conversation": (
        ask(*CONVERSATION),
        {
            "messages": [
                {"role": "system", "content": "Be brief."},
                {"role": "user", "content": "Weather?"},
                {
                    "role": "assistant",
                    "content": "Let me look.",
                    "tool_calls": [
                        {
                            "id": "c1",
                            "type": "function",
                            "function": {"name": "weather", "arguments": '{"city":"Rome"}'},
                        }
                    ],
                },
                {"role": "tool", "tool_call_id": "c1", "content": "sunny"},
                {"role": "user", "content": "Thanks"},
            ]
        },
    ),
    "pictures and documents": (
        ask(UserMessage((Text("Look"), PICTURE, Image(url="https://x/a.png"), PAPER))),
        {
            "messages": [
                {
                    "role": "user",
                    "content": [
                        {"type": "text", "text": "Look"},
                        {"type": "image_url", "image_url": {"url": DATA}},
                        {"type": "image_url", "image_url": {"url": "https://x/a.png"}},
                        {"type": "file", "file": {"filename": "a.pdf", "file_data": PDF}},
                    ],
                }
            ]
        },
    ),
    "tools": (ask(tools=(LOOSE,)), {"messages": [HI], "tools": [{"type": "function", "function": _FUNCTION}]}),
    "a certain tool": (
        ask(tools=(LOOSE,), tool_choice="weather"),
        {
            "messages": [HI],
            "tools": [{"type": "function", "function": _FUNCTION}],
            "tool_choice": {"type": "function", "function": {"name": "weather"}},
        },
    ),
    "structured output": (
        ask(output=CITY),
        {"messages": [HI], "response_format": {"type": "json_schema", "json_schema": _FORMAT}},
    ),
    "options": (
        ask(options=LlmOptions(temperature=0.5, top_p=0.9, max_tokens=99)),
        {"messages": [HI], "temperature": 0.5, "top_p": 0.9, "max_completion_tokens": 99},
    ),
}


class TestChat:
    @pytest.mark.parametrize("name", CHAT)
    @pytest.mark.parametrize("stream", [False, True])
    async def test_the_sdk_sends_the_same(
        self, server: ChatServer, sdk: openai.AsyncOpenAI, name: str, stream: bool
    ) -> None:
        request, arguments = CHAT[name]
        streaming: Any = {"stream": True, "stream_options": {"include_usage": True}} if stream else {}

        await sdk.chat.completions.create(model="gpt-4.1", **arguments, **streaming)

        assert server.bodies[0] == ours(OPENAI_CHAT, "gpt-4.1", request, stream=stream)
        assert server.received[0].path == "/v1/chat/completions"

    async def test_reasoning_models(self, server: ChatServer, sdk: openai.AsyncOpenAI) -> None:
        options = LlmOptions(temperature=0.5, max_tokens=99, reasoning_effort="low")

        await sdk.chat.completions.create(
            model="gpt-5", messages=[HI], max_completion_tokens=99, reasoning_effort="low"
        )

        assert server.bodies[0] == ours(OPENAI_CHAT, "gpt-5", ask(options=options))

    async def test_the_sdk_derives_the_same_schema(self, server: ChatServer, sdk: openai.AsyncOpenAI) -> None:
        server.will(says(VOICES["openai-chat"], Saying('{"name":"Rome","country":"Italy"}')))

        await sdk.chat.completions.parse(model="gpt-4.1", messages=[HI], response_format=City)

        theirs: Any = server.bodies[0]["response_format"]
        mine: Any = ours(OPENAI_CHAT, "gpt-4.1", ask(output=CITY))["response_format"]
        assert _plain(theirs["json_schema"]["schema"]) == _plain(mine["json_schema"]["schema"])
        assert theirs["json_schema"]["strict"] is mine["json_schema"]["strict"] is True

    async def test_the_sdk_understands_the_fake(self, server: ChatServer, sdk: openai.AsyncOpenAI) -> None:
        saying = Saying("hello", calls=(ToolCall("c1", "weather", "{}"),))
        server.will(says(VOICES["openai-chat"], saying))

        whole = await sdk.chat.completions.create(model="m", messages=[HI])
        async with sdk.chat.completions.stream(model="m", messages=[HI]) as events:
            streamed: ChatCompletion = await events.get_final_completion()

        for completion in (whole, streamed):
            message = completion.choices[0].message
            assert message.content == "hello"
            assert message.tool_calls is not None
            assert message.tool_calls[0].id == "c1"


_TOOL = {"type": "function", "name": "weather", "description": "The weather in a city.", "parameters": SCHEMA}
_FIND = {"type": "function", "name": "find", "description": "Finds a city.", "parameters": STRICT.parameters}


def said(role: str, *content: dict[str, object]) -> dict[str, object]:
    return {"type": "message", "role": role, "content": list(content)}


HELLO = said("user", {"type": "input_text", "text": "hi"})
RESPONSES: Mapping[str, tuple[ModelRequest, dict[str, Any]]] = {
    "text": (ask(), {"input": [HELLO]}),
    "conversation": (
        ask(*CONVERSATION),
        {
            "instructions": "Be brief.",
            "input": [
                said("user", {"type": "input_text", "text": "Weather?"}),
                said("assistant", {"type": "output_text", "text": "Let me look."}),
                {"type": "function_call", "call_id": "c1", "name": "weather", "arguments": '{"city":"Rome"}'},
                {"type": "function_call_output", "call_id": "c1", "output": "sunny"},
                said("user", {"type": "input_text", "text": "Thanks"}),
            ],
        },
    ),
    "thinking that is replayed": (
        ask(
            UserMessage("hi"),
            AssistantMessage(
                (
                    Thinking("Hm."),
                    ProviderItem(
                        "openai-responses", '{"type":"reasoning","id":"rs","summary":[],"encrypted_content":"e"}'
                    ),
                    ProviderItem("openai-responses", '{"type":"reasoning","id":"rs2","summary":[]}'),
                    ProviderItem("anthropic-messages", '{"type":"redacted_thinking"}'),
                    Text("Yes"),
                )
            ),
        ),
        {
            "input": [
                HELLO,
                {"type": "reasoning", "id": "rs", "summary": [], "encrypted_content": "e"},
                said("assistant", {"type": "output_text", "text": "Yes"}),
            ]
        },
    ),
    "pictures and documents": (
        ask(UserMessage((Text("Look"), PICTURE, PAPER, Document(url="https://x/a.pdf")))),
        {
            "input": [
                said(
                    "user",
                    {"type": "input_text", "text": "Look"},
                    {"type": "input_image", "image_url": DATA, "detail": "auto"},
                    {"type": "input_file", "filename": "a.pdf", "file_data": PDF},
                    {"type": "input_file", "file_url": "https://x/a.pdf"},
                )
            ]
        },
    ),
    "tools": (
        ask(tools=(LOOSE, STRICT), options=LlmOptions(native_tools=("web_search", "code_interpreter"))),
        {
            "input": [HELLO],
            "tools": [
                {**_TOOL, "strict": False},
                {**_FIND, "strict": True},
                {"type": "web_search"},
                {"type": "code_interpreter", "container": {"type": "auto"}},
            ],
        },
    ),
    "a certain tool": (
        ask(tools=(LOOSE,), tool_choice="weather"),
        {
            "input": [HELLO],
            "tools": [{**_TOOL, "strict": False}],
            "tool_choice": {"type": "function", "name": "weather"},
        },
    ),
    "structured output": (
        ask(output=CITY),
        {"input": [HELLO], "text": {"format": {"type": "json_schema", **_FORMAT}}},
    ),
    "options": (
        ask(options=LlmOptions(temperature=0.5, top_p=0.9, top_k=3, max_tokens=99, reasoning_effort="high")),
        {"input": [HELLO], "max_output_tokens": 99, "reasoning": {"effort": "high"}},
    ),
    "options without reasoning": (
        ask(options=LlmOptions(temperature=0.5, top_p=0.9, reasoning_effort="none")),
        {"input": [HELLO], "temperature": 0.5, "top_p": 0.9, "reasoning": {"effort": "none"}},
    ),
}


class TestResponses:
    @pytest.mark.parametrize("name", RESPONSES)
    @pytest.mark.parametrize("stream", [False, True])
    async def test_the_sdk_sends_the_same(
        self, server: ChatServer, sdk: openai.AsyncOpenAI, name: str, stream: bool
    ) -> None:
        request, arguments = RESPONSES[name]
        server.will(says(VOICES["openai-responses"], Saying("hello")))
        include: Any = ["reasoning.encrypted_content"]
        streaming: Any = {"stream": True} if stream else {}

        await sdk.responses.create(model="gpt-5.4", store=False, include=include, **arguments, **streaming)

        assert server.bodies[0] == ours(OPENAI_RESPONSES, "gpt-5.4", request, stream=stream)
        assert server.received[0].path == "/v1/responses"

    async def test_models_that_do_not_reason(self, server: ChatServer, sdk: openai.AsyncOpenAI) -> None:
        server.will(says(VOICES["openai-responses"], Saying("hello")))
        options = LlmOptions(temperature=0.5, reasoning_effort="low")

        await sdk.responses.create(model="gpt-4.1", store=False, input=[HELLO], temperature=0.5)  # type: ignore[list-item]

        assert server.bodies[0] == ours(OPENAI_RESPONSES, "gpt-4.1", ask(options=options))

    async def test_a_summary_of_the_thinking(self, server: ChatServer, sdk: openai.AsyncOpenAI) -> None:
        server.will(says(VOICES["openai-responses"], Saying("hello")))
        told: Any = {"effort": "low", "summary": "auto"}

        await sdk.responses.create(model="m", store=False, input=[HELLO], reasoning=told, parallel_tool_calls=False)  # type: ignore[list-item]

        dialect = Dialect(reasoning_summary="auto", parallel_tool_calls=False)
        request = ask(options=LlmOptions(reasoning_effort="low"), tools=(LOOSE,))
        body = OPENAI_RESPONSES.encode(request, "m", dialect)
        assert {name: value for name, value in body.items() if name != "tools"} == server.bodies[0]

    async def test_the_sdk_understands_the_fake(self, server: ChatServer, sdk: openai.AsyncOpenAI) -> None:
        saying = Saying("hello", "Hm.", (ToolCall("c1", "weather", '{"city":"Rome"}'),))
        server.will(says(VOICES["openai-responses"], saying))

        whole = await sdk.responses.create(model="m", input="hi")
        async with sdk.responses.stream(model="m", input="hi") as events:
            streamed: Response = await events.get_final_response()

        assert streamed.output_text == whole.output_text == "hello"
        for one in (whole, streamed):
            kinds = [item.type for item in one.output]
            assert kinds == ["reasoning", "message", "function_call"]
            assert OPENAI_RESPONSES.decode(one.model_dump(mode="json")).message.tool_calls == saying.calls


async def test_both_get_the_same_answer_from_a_strict_server() -> None:
    async with StrictServer(SITES["openai"]) as server:
        client = openai.AsyncOpenAI(api_key=KEY, base_url=f"{server.url}/v1", max_retries=0)
        body = response(reasoning("One.", "Two."), output_message("", refusal="I will not"))
        server.will(answers(body))
        theirs = await client.responses.create(model="gpt-5.4", input=[HELLO], store=False)  # type: ignore[list-item]
        mine = await server.serve().generate(ask())
        await client.close()

        refused: Any = theirs.output[1]
        assert mine.message.text == refused.content[0].refusal == "I will not"
        assert mine.message.thinking == "One.\n\nTwo."


@pytest.mark.parametrize(("status", "kind"), [(400, openai.BadRequestError), (429, openai.RateLimitError)])
async def test_the_sdk_reads_errors(
    server: ChatServer, sdk: openai.AsyncOpenAI, status: int, kind: type[Exception]
) -> None:
    server.will(answers(VOICES["openai-responses"].error("no"), status), sends(b""))

    with pytest.raises(kind, match="no"):
        await sdk.responses.create(model="m", input="hi")


def _plain(schema: object) -> object:
    """The schema without titles, which say nothing."""
    if isinstance(schema, dict):
        return {name: _plain(value) for name, value in schema.items() if name != "title"}
    return [_plain(one) for one in schema] if isinstance(schema, list) else schema
