"""What `tactician models` shows of each instance: what it can do, what it costs and how it does."""

import asyncio
import json
from collections.abc import Mapping
from dataclasses import replace
from io import StringIO
from math import inf

import pytest
from rich.console import Console

from tactician.cli.models import show_models
from tactician.config import ModelSettings, Settings
from tactician.errors import ConfigurationError, ModelTimeoutError
from tactician.llm import (
    AssistantMessage,
    EmbeddedModel,
    LlmOptions,
    ModelCatalog,
    ModelRequest,
    ModelResponse,
    UserMessage,
)
from tactician.llm.routing.deployment import DeploymentStatus
from tests.support.chat_server import ChatServer, Reply, answers, completion, fails

OK = answers(completion("OK."))


def instance(id: str, models: str = "m", provider: str = "openai", url: str = "http://x", **more: object) -> object:
    return {"id": id, "url": url, "key": "sk-secret", "models": models, "provider": provider, **more}


def catalog(*instances: object, **environment: str) -> ModelCatalog:
    return ModelCatalog(Settings(), {"LLM_INSTANCES": json.dumps(instances), **environment})


def shown(source: ModelCatalog, *, check: bool = False) -> tuple[str, bool]:
    console = Console(file=StringIO(), width=300)
    is_well = show_models(console, source, check=check)
    assert isinstance(console.file, StringIO)
    assert "sk-" not in console.file.getvalue()
    return console.file.getvalue(), is_well


def rows(text: str) -> dict[str, list[str]]:
    """The cells from the third on, by who serves the model."""
    lines = (line.split("│")[1:-1] for line in text.splitlines() if line.startswith("│"))
    return {cells[2].strip(): [cell.strip() for cell in cells[3:]] for cells in lines}


async def checked(source: ModelCatalog) -> tuple[str, bool]:
    return await asyncio.to_thread(shown, source, check=True)


@pytest.fixture(autouse=True)
def without_weights(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tactician.llm.embedded.is_available", lambda: False)


def test_each_instance_has_its_own_abilities_and_prices() -> None:
    custom = {
        "apiFormat": "openai-chat",
        "auth": {"header": "X-Key"},
        "endpoints": {"chat_completions": "/chat"},
        "features": {"functionCalling": True, "vision": False},
        "modelPricing": {"acme": {"input": 1.5, "output": 6}},
    }
    text, is_well = shown(
        catalog(
            instance("house", "acme-1", "custom", custom=custom),
            instance("other", "acme-1", "openai"),
            instance("eu", "claude-sonnet-5", "anthropic"),
            instance("old", "gpt-4o"),
            MISTRAL_API_KEY="sk-m",
        )
    )
    assert is_well
    table = rows(text)
    assert table["house"] == ["tools", "1.50 / 6.00", "not called yet"]
    assert table["other"] == [
        "tools, structured output, images, documents, reasoning",
        "? / ?",
        "not called yet",
    ]
    assert table["eu"][0].endswith("documents, reasoning, web search, code interpreter")
    assert "reasoning" not in table["old"][0]
    assert table["mistral"][2] == "not called yet"


async def test_a_check_asks_each_instance_once_and_tells_how_it_does() -> None:
    busy = fails(429, "slow down", {"Retry-After": "28"})
    async with ChatServer(OK) as good, ChatServer(fails(500, "overloaded")) as bad, ChatServer(busy) as full:
        source = catalog(instance("one", url=good.url), instance("two", url=bad.url), instance("three", url=full.url))
        text, is_well = await checked(source)
        assert [len(server.received) for server in (good, bad, full)] == [1, 1, 1]
    assert not is_well
    health = {name: cells[2] for name, cells in rows(text).items()}
    assert health["one"].startswith("ok, ")
    assert health["two"] == "failed (server)"
    assert health["three"] in ("circuit open for 28 s (rate_limit)", "left alone for 27 s (rate_limit)")
    assert "two:m does not answer: HTTP 500: overloaded" in text
    assert "one:m does not answer" not in text


async def test_a_single_key_is_checked_as_an_instance_is() -> None:
    async with ChatServer(OK) as server:
        source = ModelCatalog(Settings(), {"MISTRAL_API_KEY": "sk-m", "MISTRAL_BASE_URL": server.url})
        text, is_well = await checked(source)
    assert is_well
    assert rows(text)["mistral"][2].startswith("ok, ")
    assert list(source.get_statuses()) == ["mistral:mistral-large-latest"]


async def test_a_model_that_cannot_be_called_at_all_says_why_in_its_row() -> None:
    fallbacks: dict[str, tuple[str, ...]] = {"mistral:mistral-large-latest": ("openai:gpt-5.4",)}
    source = ModelCatalog(Settings(models=ModelSettings(fallbacks=fallbacks)), {"MISTRAL_API_KEY": "sk-m"})
    text, is_well = await checked(source)
    assert not is_well
    assert rows(text)["mistral"] == ["openai:gpt-5.4: set OPENAI_API_KEY to your key for openai", "", "failed"]


@pytest.mark.parametrize("error", [None, ModelTimeoutError("local: no answer within 60 s")])
async def test_the_embedded_model_is_checked_too(
    error: ModelTimeoutError | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def generate(self: EmbeddedModel, request: ModelRequest) -> ModelResponse:
        if error is not None:
            raise error
        return ModelResponse(AssistantMessage())

    monkeypatch.setattr("tactician.llm.embedded.is_available", lambda: True)
    monkeypatch.setattr(EmbeddedModel, "generate", generate)
    text, is_well = await checked(ModelCatalog(Settings(), {}))
    abilities, price, health = rows(text)["this process"]
    assert (abilities, price, is_well) == ("structured output", "0.00 / 0.00", error is None)
    assert health.startswith("failed" if error else "ok, ")
    assert ("local does not answer: no answer within 60 s" in text) == (error is not None)


async def test_a_program_that_runs_on_can_ask_and_show_how_its_models_do() -> None:
    async with ChatServer(OK) as server:
        source = catalog(instance("one", url=server.url), instance("two", url=server.url))
        model = source.resolve(LlmOptions(model="one:m"))
        for _ in range(2):
            await model.generate(ModelRequest((UserMessage("hi"),)))
    health = source.get_statuses()
    assert [(name, one.requests, one.answers, one.failure) for name, one in health.items()] == [
        ("one:m", 2, 2, None),
        ("two:m", 0, 0, None),
    ]
    table = rows(shown(source)[0])
    assert table["one"][2].startswith("ok, ")
    assert table["one"][2].endswith(" s on average")
    assert table["two"][2] == "not called yet"


def test_a_tool_of_the_provider_that_a_user_knows_of_is_listed() -> None:
    fact: dict[str, object] = {"match": "m", "native_tools": {"moonlight": {"type": "moonlight"}}}
    environment = {"LLM_INSTANCES": json.dumps([instance("one")])}
    text, _ = shown(ModelCatalog(Settings(models=ModelSettings(profiles=(fact,))), environment))
    assert rows(text)["one"][0].endswith(", reasoning, moonlight")


def test_a_default_that_only_has_a_name_is_marked_too() -> None:
    text, _ = shown(catalog(instance("one"), TACTICIAN_MODEL="ollama:qwen3"))
    assert next(line.split("│")[2].strip() for line in text.splitlines() if "→" in line) == "ollama:qwen3"
    assert "The default is ollama:qwen3, because TACTICIAN_MODEL is set." in text


async def test_the_default_and_the_models_of_roles_are_listed_and_checked() -> None:
    roles = {"reviewer": "mistral:mistral-small-latest", "writer": "one:m", "lost": "nobody-serves-this"}
    async with ChatServer(OK) as server, ChatServer(fails(404, "no such model")) as other:
        environment = {
            "LLM_INSTANCES": json.dumps([instance("one", url=server.url)]),
            "MISTRAL_API_KEY": "sk-m",
            "MISTRAL_BASE_URL": other.url,
            "OLLAMA_BASE_URL": server.url,
            "TACTICIAN_MODEL": "ollama:qwen3",
        }
        text, is_well = await checked(ModelCatalog(Settings(models=ModelSettings(roles=roles)), environment))
    lines = [[cell.strip() for cell in line.split("│")[1:-1]] for line in text.splitlines() if line.startswith("│")]
    by_name = {cells[1]: cells for cells in lines}
    assert not is_well
    assert (by_name["ollama:qwen3"][0], by_name["ollama:qwen3"][2]) == ("→", "ollama")
    assert by_name["ollama:qwen3"][5].startswith("ok, ")
    assert by_name["mistral:mistral-small-latest"][5] == "failed (refused)"
    assert "mistral:mistral-small-latest does not answer: HTTP 404: no such model" in text
    assert "mistral:mistral-small-latest: it has the role reviewer" in text
    assert by_name["nobody-serves-this"][3].startswith("Nothing serves the model 'nobody-serves-this'")
    assert by_name["m"][2] == "one"
    assert "one:m" not in by_name, "it is listed as the instance's model"


async def test_nothing_is_listed_that_a_server_of_ones_own_may_not_have() -> None:
    async with ChatServer(OK) as server:
        environment = {"OPENAI_BASE_URL": server.url, "TACTICIAN_MODEL": "qwen3"}
        text, is_well = await checked(ModelCatalog(Settings(), environment))
    assert is_well
    assert [body["model"] for body in server.bodies] == ["qwen3"]
    assert list(rows(text)) == ["openai"]


STATUS = DeploymentStatus(instance="one", model="m", requests=1)
HEALTH = {
    "no answer yet": replace(STATUS, in_flight=1),
    "is tried again (server)": replace(STATUS, in_flight=1, failure="server", cooldown_seconds=inf),
    "circuit open for 3 s": replace(STATUS, cooldown_seconds=3.2),
    "ok, 0.50 s": replace(STATUS, answers=1, latency=0.5, average_latency=0.5),
    "ok, 0.50 s, 0.75 s on average": replace(STATUS, answers=2, latency=0.5, average_latency=0.75),
}


@pytest.mark.parametrize("expected", HEALTH)
def test_health_has_words(expected: str) -> None:
    class Known(ModelCatalog):
        def get_statuses(self) -> Mapping[str, DeploymentStatus]:
            return {"one:m": HEALTH[expected]}

    source = Known(Settings(), {"LLM_INSTANCES": json.dumps([instance("one")])})
    assert rows(shown(source)[0])["one"][2] == expected


SERVED = {"object": "list", "data": [{"id": "qwen3"}, {"id": "llama\x1b[31m"}, {"name": "odd"}, 7]}


@pytest.mark.parametrize(
    ("reply", "told"),
    [
        (answers(SERVED), ". It has: qwen3, llama"),
        (answers({"data": "none"}), ""),
        (answers("no JSON"), ""),
        (fails(500), ""),
    ],
)
async def test_a_server_without_a_default_model_is_asked_for_its_models(reply: Reply, told: str) -> None:
    async with ChatServer(reply) as server:
        source = ModelCatalog(Settings(), {"OPENAI_BASE_URL": f"{server.url}/v1", "OPENAI_API_KEY": "sk-secret"})
        with pytest.raises(ConfigurationError, match="OPENAI_BASE_URL is set") as raised:
            await asyncio.to_thread(shown, source)
        [asked] = server.received
    assert (asked.path, asked.headers["authorization"]) == ("/v1/models", "Bearer sk-secret")
    assert told in str(raised.value)
    assert ("It has" in str(raised.value)) is bool(told)
    assert "\x1b" not in str(raised.value)
