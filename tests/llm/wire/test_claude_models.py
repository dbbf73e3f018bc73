"""What is sent to each Claude model, checked by a server that refuses what that model refuses."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping

import pytest

from tactician.llm import AssistantMessage, LlmOptions, Message, ModelRequest, Text, Thinking, UserMessage
from tactician.llm.model import ToolSpec
from tactician.llm.providers import PROVIDERS
from tactician.llm.remote import RemoteModel
from tests.support.anthropic_rules import MODELS
from tests.support.anthropic_server import BETA, KEY, AnthropicServer, says, text

BINDING = ("claude-fable-5-1", "claude-opus-5-5", "claude-sonnet-5-5", "claude-haiku-5-5")
TOOL = ToolSpec("weather", "The weather.", {"type": "object", "properties": {}})
THOUGHT = AssistantMessage((Thinking("Hm", "own"), Text("Rome")))
DROPS = {"prefix_mismatch_behavior": "drop_block"}


@pytest.fixture
async def server() -> AsyncIterator[AnthropicServer]:
    async with AnthropicServer(says(text("hello"))) as running:
        yield running


def model(server: AnthropicServer, name: str) -> RemoteModel:
    return RemoteModel(name, PROVIDERS["anthropic"].create_endpoint(KEY, server.url, model=name))


def asked(*history: Message, tool_choice: str = "auto", **options: object) -> ModelRequest:
    messages = (UserMessage("Where?"), *history, UserMessage("Why?")) if history else (UserMessage("Where?"),)
    return ModelRequest(messages, (TOOL,), tool_choice, options=LlmOptions(**options))  # type: ignore[arg-type]


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("effort", [None, "none", "minimal", "low", "medium", "high", "xhigh", "max", "enabled"])
@pytest.mark.parametrize("choice", ["auto", "none", "required", "weather"])
async def test_every_model_takes_every_wish(
    server: AnthropicServer, name: str, effort: str | None, choice: str
) -> None:
    sampled = {"temperature": 0.5, "top_p": 0.9, "top_k": 3}

    for history in ((), (THOUGHT,)):
        wish = asked(*history, tool_choice=choice, reasoning_effort=effort, **sampled)
        response = await model(server, name).generate(wish)

        assert response.message.text == "hello"


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("claude-haiku-4-5", {"thinking": {"type": "disabled"}}),
        ("claude-opus-4-7", {"thinking": {"type": "disabled"}}),
        ("claude-haiku-5-5", {"thinking": {"type": "disabled"}}),
        ("claude-sonnet-5-5", {"thinking": {"type": "between_tools"}}),
        ("claude-opus-5-5", {"output_config": {"effort": "low"}}),
        ("claude-fable-5", {"output_config": {"effort": "low"}}),
    ],
)
async def test_thinking_is_turned_down_as_far_as_it_goes(
    server: AnthropicServer, name: str, told: Mapping[str, object]
) -> None:
    await model(server, name).generate(asked(reasoning_effort="none"))

    (body,) = server.bodies
    assert {key: body[key] for key in ("thinking", "output_config") if key in body} == told


async def test_thinking_is_asked_to_be_shown_where_it_would_be_kept_back(server: AnthropicServer) -> None:
    for name in ("claude-sonnet-4-6", "claude-opus-4-7"):
        await model(server, name).generate(asked(reasoning_effort="low"))

    first, second = (body["thinking"] for body in server.bodies)
    assert (first, second) == ({"type": "adaptive"}, {"type": "adaptive", "display": "summarized"})


@pytest.mark.parametrize("name", BINDING)
async def test_thinking_that_no_longer_fits_its_conversation_is_dropped(server: AnthropicServer, name: str) -> None:
    await model(server, name).generate(asked(THOUGHT))

    assert server.bodies[0]["thinking"] == {"type": "adaptive", "block_binding": DROPS}
    assert server.received[0].headers["anthropic-beta"] == BETA


async def test_models_that_bind_no_thinking_hear_nothing_of_it(server: AnthropicServer) -> None:
    await model(server, "claude-opus-4-7").generate(asked(THOUGHT))

    assert "thinking" not in server.bodies[0]
    assert "anthropic-beta" not in server.received[0].headers


@pytest.mark.parametrize(
    ("name", "version", "limit"),
    [
        ("claude-3-5-haiku-latest", "code_execution_20250825", 4096),
        ("claude-opus-4-1-20250805", "code_execution_20250825", 4096),
        ("claude-haiku-4-5-20251001", "code_execution_20250825", 16_384),
        ("claude-sonnet-4-5", "code_execution_20260120", 16_384),
        ("claude-haiku-5-5", "code_execution_20260120", 16_384),
    ],
)
def test_code_runs_in_the_newest_version_that_a_model_knows(name: str, version: str, limit: int) -> None:
    made = PROVIDERS["anthropic"].create_endpoint(KEY, model=name)
    request = ModelRequest((UserMessage("2+2"),), options=LlmOptions(native_tools=("code_interpreter",)))

    body = made.wire.encode(request, name, made.dialect)

    assert body["tools"] == [{"type": version, "name": "code_execution"}]
    assert body["max_tokens"] == limit
