"""A router from the JSON of `LLM_INSTANCES`, on real servers: spread, failover, and use by agents."""

from __future__ import annotations

import json

import pytest

from tactician import Agent, LlmOptions, ModelRouter, Platform
from tactician.config import ModelSettings, Settings
from tactician.errors import ConfigurationError, MalformedResponseError, RateLimitError, UnsupportedFeatureError
from tactician.llm import ModelCatalog, ModelRequest, UserMessage
from tactician.runs import RunContext
from tests.support.chat_server import ChatServer, answers, completion, fails

ASKED = ModelRequest((UserMessage("hi"),), options=LlmOptions(model="house-model"))
HELLO = answers(completion("hello"))


def instances(*servers: ChatServer, **more: object) -> str:
    return json.dumps(
        [
            {"id": f"site-{n}", "url": one.url, "key": "${KEY}", "models": "house-model", "provider": "mistral", **more}
            for n, one in enumerate(servers, start=1)
        ]
    )


async def test_calls_are_spread_evenly_over_the_instances_that_serve_a_model() -> None:
    async with ChatServer(HELLO) as one, ChatServer(HELLO) as two:
        router = ModelRouter.from_json(instances(one, two), environment={"KEY": "sk-1"})
        answered = [(await router.generate(ASKED)).usage.model for _ in range(10)]
    assert (len(one.received), len(two.received)) == (5, 5)
    assert set(answered) == {"site-1:house-model", "site-2:house-model"}
    assert one.received[0].headers["authorization"] == "Bearer sk-1"


async def test_another_instance_answers_when_one_fails() -> None:
    async with ChatServer(fails(500)) as broken, ChatServer(HELLO) as healthy:
        router = ModelRouter.from_json(instances(broken, healthy), environment={"KEY": "sk-1"})
        answered = [(await router.generate(ASKED)).message.text for _ in range(6)]
    assert answered == ["hello"] * 6


async def test_max_retries_says_how_often_a_failure_that_passes_is_tried_again() -> None:
    async with ChatServer(fails(429, headers={"Retry-After": "0"})) as busy:
        router = ModelRouter.from_json(instances(busy), environment={"KEY": "sk-1"}, max_retries=1)
        with pytest.raises(RateLimitError):
            await router.generate(ASKED)
    assert len(busy.received) == 2


async def test_a_platform_runs_its_agents_over_a_router() -> None:
    async with ChatServer(HELLO) as one, ChatServer(HELLO) as two:
        router = ModelRouter.from_json(instances(one, two), environment={"KEY": "sk-1"})
        context = Platform(models=router).context()
        agent = Agent("Greeter", model="house-model")
        results = [await agent.run("hi", context=context) for _ in range(4)]
    assert [result.output for result in results] == ["hello"] * 4
    assert (len(one.received), len(two.received)) == (2, 2)
    assert set(context.tally.by_instance) == {"site-1", "site-2"}


async def test_the_catalog_spreads_over_the_instances_of_the_environment() -> None:
    async with ChatServer(HELLO) as one, ChatServer(fails(503)) as two:
        catalog = ModelCatalog(environment={"LLM_INSTANCES": instances(one, two), "KEY": "sk-1"})
        results = [await Agent("A").run("hi", context=RunContext.over(catalog)) for _ in range(4)]
    assert [result.output for result in results] == ["hello"] * 4


async def test_a_fallback_of_the_options_answers_when_the_model_cannot() -> None:
    async with ChatServer(fails(401)) as locked, ChatServer(HELLO) as ollama:
        environment = {"MISTRAL_API_KEY": "k", "MISTRAL_BASE_URL": locked.url, "OLLAMA_BASE_URL": ollama.url}
        catalog = ModelCatalog(environment=environment)
        options = LlmOptions(model="mistral:large", fallbacks=("ollama:qwen3",))
        result = await Agent("A", model=options).run("hi", context=RunContext.over(catalog))
    assert result.output == "hello"
    assert list(result.tally.by_model) == ["ollama:qwen3"]


async def test_a_fallback_of_the_configuration_answers_when_the_model_cannot() -> None:
    async with ChatServer(fails(404)) as gone, ChatServer(HELLO) as ollama:
        environment = {"MISTRAL_API_KEY": "k", "MISTRAL_BASE_URL": gone.url, "OLLAMA_BASE_URL": ollama.url}
        settings = Settings(models=ModelSettings(fallbacks={"mistral:large": ("ollama:qwen3",)}))
        catalog = ModelCatalog(settings, environment)
        result = await Agent("A", model="mistral:large").run("hi", context=RunContext.over(catalog))
    assert result.output == "hello"


def test_every_mistake_is_told_and_no_key() -> None:
    text = json.dumps([{"id": "a", "url": "http://x", "key": "sk-secret", "models": "m", "provider": "bogus"}, {}])
    with pytest.raises(ConfigurationError) as caught:
        ModelRouter.from_json(text)
    assert "bogus" in str(caught.value)
    assert str(caught.value).count("\n  - ") > 1
    assert "sk-secret" not in str(caught.value)


@pytest.mark.parametrize("spoken", [None, "openai-chat"])
async def test_a_gateway_without_native_tools_says_which_field_chooses_the_format(spoken: str | None) -> None:
    request = ModelRequest((UserMessage("hi"),), options=LlmOptions(model="m", native_tools=("web_search",)))
    async with ChatServer(HELLO) as server:
        entry = {"id": "gateway", "provider": "openai", "url": server.url, "models": "m", "apiFormat": spoken}

        with pytest.raises(UnsupportedFeatureError, match=r'openai-chat.*"apiFormat": "openai-responses" in its inst'):
            await ModelRouter.from_json(json.dumps([entry]), environment={}).generate(request)
        assert server.received == []

        chosen = ModelRouter.from_json(json.dumps([{**entry, "apiFormat": "openai-responses"}]), environment={})
        with pytest.raises(MalformedResponseError):  # the server speaks chat completions, whatever it is asked
            await chosen.generate(request)
    assert {received.path for received in server.received} == {"/v1/responses"}
