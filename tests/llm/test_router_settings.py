"""Settings of the router: `tactician.toml`, environment variables and `from_json` say the same things."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tactician import LlmOptions, ModelRouter
from tactician.config import ModelSettings, Settings
from tactician.config.loading import load_settings
from tactician.config.model_settings import RouterSettings
from tactician.errors import ConfigurationError, ModelError, ModelTimeoutError
from tactician.llm import CircuitBreakerPolicy, LanguageModel, ModelCatalog, ModelRequest, ModelRetryPolicy, UserMessage
from tactician.llm.instances import parse_instances
from tactician.llm.router_settings import MODEL_VARIABLES, apply_environment
from tactician.llm.routing.deployment import create_deployments
from tactician.llm.routing.router_arguments import RouterChanges, create_router_arguments
from tactician.resilience.backoff import RetryRule
from tests.support.chat_server import ChatServer, answers, completion, fails
from tests.support.effort import examples

ALL = """
[models.router]
policy = "sticky"
requests_per_second = 20
tokens_per_second = 3000
max_concurrency = 7
max_retries = 4
timeout = 30
deadline = 60

[models.router.retries]
rate_limit = { attempts = 9, longest = 5 }
truncated = { attempts = 1 }
statuses = [429, 503]

[models.router.circuit_breaker]
failure_threshold = 2
cooldown = 1.5

[models.fallbacks]
"big" = ["small"]

[models.roles]
reviewer = "big"

[models.prices]
big = { input = 1, output = 2 }

[[models.profiles]]
match = "big*"
images = false
"""
VARIABLES = {
    "TACTICIAN_ROUTER_POLICY": "sticky",
    "TACTICIAN_ROUTER_REQUESTS_PER_SECOND": "20",
    "TACTICIAN_ROUTER_TOKENS_PER_SECOND": " 3000 ",
    "TACTICIAN_ROUTER_MAX_CONCURRENCY": "7",
    "TACTICIAN_ROUTER_MAX_RETRIES": "4",
    "TACTICIAN_ROUTER_TIMEOUT": "30",
    "TACTICIAN_ROUTER_DEADLINE": "60",
    "TACTICIAN_ROUTER_RETRIES": json.dumps(
        {
            "rate_limit": {"attempts": 9, "longest": 5},
            "truncated": {"attempts": 1},
            "statuses": [429, 503],
        }
    ),
    "TACTICIAN_ROUTER_CIRCUIT_BREAKER": '{"failure_threshold": 2, "cooldown": 1.5}',
    "TACTICIAN_FALLBACKS": '{"big": ["small"]}',
    "TACTICIAN_ROLES": '{"reviewer": "big"}',
    "TACTICIAN_PRICES": '{"big": {"input": 1, "output": 2}}',
    "TACTICIAN_PROFILES": '[{"match": "big*", "images": false}]',
}


def written(text: str, folder: Path) -> Settings:
    file = folder / "tactician.toml"
    file.write_text(text, encoding="utf-8")
    return load_settings(file)


def test_the_file_and_the_environment_say_the_same(tmp_path: Path) -> None:
    filed, variables = written(ALL, tmp_path).models, apply_environment(ModelSettings(), VARIABLES)

    assert filed == variables
    assert filed.fallbacks == {"big": ("small",)}
    assert create_router_arguments(filed.router) == {
        "policy": "sticky",
        "requests_per_second": 20.0,
        "tokens_per_second": 3000.0,
        "max_concurrency": 7,
        "retries": ModelRetryPolicy(
            rate_limit=RetryRule(attempts=9, longest=5.0),
            timeout=RetryRule(attempts=5, base=0.0),
            server=RetryRule(attempts=5),
            connection=RetryRule(attempts=5),
            truncated=RetryRule(attempts=1, base=0.0),
            deadline=60.0,
            first_timeout=30.0,
            statuses=frozenset({429, 503}),
        ),
        "circuit_breaker": CircuitBreakerPolicy(failure_threshold=2, cooldown=1.5),
    }


def test_what_nobody_says_is_as_usual() -> None:
    policies = create_router_arguments(RouterSettings())

    assert (policies["policy"], policies["max_concurrency"]) == ("round_robin", 100)
    assert (policies["retries"], policies["circuit_breaker"]) == (ModelRetryPolicy(), CircuitBreakerPolicy())


def test_a_variable_comes_before_the_file_and_an_empty_one_says_nothing(tmp_path: Path) -> None:
    environment = {"TACTICIAN_ROUTER_POLICY": "least_loaded", "TACTICIAN_ROUTER_DEADLINE": "", "OTHER": "x"}

    router = apply_environment(written(ALL, tmp_path).models, environment).router

    assert (router.policy, router.deadline, router.max_retries) == ("least_loaded", 60.0, 4)


def test_all_mistakes_in_the_environment_are_told_at_once() -> None:
    environment = {
        "TACTICIAN_ROUTER_POLICY": "random",
        "TACTICIAN_ROUTER_REQUEST_PER_SECOND": "1",
        "TACTICIAN_ROUTER_DEADLINE": "0",
        "TACTICIAN_ROUTER_MAX_RETRIES": "many",
        "TACTICIAN_ROUTER_CIRCUIT_BREAKER": '{"failure_threshold": -1, "cooldwn": 2}',
        "TACTICIAN_ROUTER_RETRIES": "{",
        "TACTICIAN_FALLBACKS": '["a"]',
    }
    with pytest.raises(ConfigurationError) as caught:
        ModelCatalog(Settings(), environment)
    heading, *lines = str(caught.value).splitlines()
    told = "\n".join(lines)
    assert heading == "The environment is wrong:"
    for part in (
        "TACTICIAN_ROUTER_POLICY: Input should be 'round_robin', 'least_loaded' or 'sticky'",
        "TACTICIAN_ROUTER_REQUEST_PER_SECOND: there is no such setting. Did you mean "
        "'TACTICIAN_ROUTER_REQUESTS_PER_SECOND'?",
        "TACTICIAN_ROUTER_DEADLINE: Input should be greater than 0",
        "TACTICIAN_ROUTER_MAX_RETRIES: Input should be a valid integer",
        "TACTICIAN_ROUTER_CIRCUIT_BREAKER: failure_threshold: Input should be greater than or equal to 0",
        "TACTICIAN_ROUTER_CIRCUIT_BREAKER: cooldwn: there is no such field; did you mean 'cooldown'?",
        "TACTICIAN_ROUTER_RETRIES:1: it is not JSON",
        "TACTICIAN_FALLBACKS: Input should be a valid object",
    ):
        assert part in told


def test_all_mistakes_in_the_file_are_told_at_once(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError) as caught:
        written(
            '[models.router]\npolicy = "random"\ndeadline = -1\n'
            "[models.router.circuit_breaker]\ncooldown_factor = 0.5\n",
            tmp_path,
        )
    for path in ("models.router.policy", "models.router.deadline", "models.router.circuit_breaker.cooldown_factor"):
        assert path in str(caught.value)


def test_all_mistakes_in_the_arguments_are_told_at_once() -> None:
    listed = '[{"id": "x", "url": "http://x", "models": "m", "provider": "ollama"}]'
    with pytest.raises(ConfigurationError, match=r"(?s)requests_per_second.*max_retries|max_retries.*requests_per_sec"):
        ModelRouter.from_json(listed, requests_per_second=-1, max_retries=-1)


def listed(*servers: ChatServer, **more: object) -> list[dict[str, object]]:
    usual = {"key": "sk-1", "models": "m", "provider": "mistral"}
    return [{"id": f"site-{n}", "url": one.url, **usual, **more} for n, one in enumerate(servers, start=1)]


def resolved(
    ways: str, instances: list[dict[str, object]], folder: Path, text: str, variables: Mapping[str, str]
) -> LanguageModel:
    """The model `m` where the settings are said in one of the ways."""
    options = LlmOptions(model="m")
    if ways == "tactician.toml":
        return ModelCatalog(written(text, folder), {"LLM_INSTANCES": json.dumps(instances)}).resolve(options)
    if ways == "environment":
        return ModelCatalog(Settings(), {"LLM_INSTANCES": json.dumps(instances), **variables}).resolve(options)
    return ModelRouter.from_json(json.dumps(instances), written(text, folder).models).resolve(options)


@pytest.mark.parametrize("ways", ["from_json", "environment", "tactician.toml"])
async def test_what_is_configured_holds_for_calls(ways: str, tmp_path: Path) -> None:
    text = "[models.router]\nmax_retries = 0\n[models.router.circuit_breaker]\nfailure_threshold = 2\n"
    text += '[models.fallbacks]\nm = ["n"]\n'
    variables = {
        "TACTICIAN_ROUTER_MAX_RETRIES": "0",
        "TACTICIAN_ROUTER_CIRCUIT_BREAKER": '{"failure_threshold": 2}',
        "TACTICIAN_FALLBACKS": '{"m": ["n"]}',
    }
    async with ChatServer(fails(500)) as broken, ChatServer(answers(completion("hello"))) as healthy:
        instances = [*listed(broken), {**listed(healthy)[0], "id": "site-2", "models": "n"}]
        model = resolved(ways, instances, tmp_path, text, variables)
        said = [await model.generate(ModelRequest((UserMessage("hi"),))) for _ in range(5)]
    assert [one.usage.model for one in said] == ["site-2:n"] * 5
    assert len(broken.received) == 2  # no retries, and after two failures the circuit opens


@pytest.mark.parametrize("ways", ["from_json", "environment", "tactician.toml"])
async def test_the_deadline_holds(ways: str, tmp_path: Path) -> None:
    variables = {"TACTICIAN_ROUTER_DEADLINE": "0.2"}
    async with ChatServer(fails(429, headers={"Retry-After": "30"})) as busy:
        model = resolved(ways, listed(busy), tmp_path, "[models.router]\ndeadline = 0.2\n", variables)
        with pytest.raises(ModelError):
            await model.generate(ModelRequest((UserMessage("hi"),)))
    assert len(busy.received) == 1


def test_limits_of_an_instance_are_those_of_its_deployments() -> None:
    entry = {
        "id": "x",
        "url": "http://x",
        "models": "m,n",
        "provider": "ollama",
        "rateLimits": {"m": 5},
        "tokenLimits": {"*": "${TOKENS}"},
        "maxConcurrency": {"n": 3},
    }
    first, second = create_deployments(parse_instances(json.dumps([entry]), {"TOKENS": "900"}))

    assert (first.requests_per_second, first.tokens_per_second, first.max_concurrency) == (5.0, 900.0, None)
    assert (second.requests_per_second, second.tokens_per_second, second.max_concurrency) == (None, 900.0, 3)


class TestInstancesInTheFile:
    TEXT = """
[[models.instances]]
id = "eu"
provider = "openai"
url = "http://x"
key = "${EU_KEY}"
models = ["m", "n"]
rateLimits = { m = 5 }
"""

    def test_are_what_the_variable_lists_otherwise(self, tmp_path: Path) -> None:
        settings = written(self.TEXT, tmp_path)
        (found,) = ModelCatalog(settings, {"EU_KEY": "sk-secret"}).instances
        (other,) = ModelCatalog(settings, {"LLM_INSTANCES": json.dumps([{**ENTRY, "id": "us"}])}).instances

        assert (found.id, found.models, found.find_rate_limit("m")) == ("eu", ("m", "n"), 5.0)
        assert found.endpoint.headers == {"Authorization": "Bearer sk-secret"}
        assert (other.id, other.models) == ("us", ("m",))
        assert "sk-secret" not in repr(found)

    def test_say_where_the_default_comes_from(self, tmp_path: Path) -> None:
        catalog = ModelCatalog(written(self.TEXT, tmp_path), {"EU_KEY": "k"})
        assert catalog.default == ("m", "tactician.toml lists it")

    def test_mistakes_are_told_together_and_no_key(self, tmp_path: Path) -> None:
        text = self.TEXT.replace('"${EU_KEY}"', '"sk-secret\\n"').replace('"openai"', '"opnai"')
        settings = written(text, tmp_path)
        with pytest.raises(ConfigurationError) as caught:
            ModelCatalog(settings, {})
        assert str(caught.value).startswith("[[models.instances]] is not valid:")
        assert "eu: provider: there is no 'opnai'" in str(caught.value)
        assert "sk-secret" not in f"{caught.value} {settings!r}"


ENTRY = {"id": "x", "url": "http://x", "models": "m", "provider": "ollama"}


NAMED_ELSEWHERE = {
    "default": "TACTICIAN_MODEL",
    "default_embedding": "TACTICIAN_EMBEDDING",
    "default_image": "TACTICIAN_IMAGE",
    "instances": "LLM_INSTANCES",
    "router": "TACTICIAN_ROUTER_...",
}


def test_every_setting_has_a_variable_and_an_argument() -> None:
    """What one way of configuring can do, the others can."""
    assert {*MODEL_VARIABLES.values(), *NAMED_ELSEWHERE} == set(ModelSettings.model_fields)
    tables = {"retries", "circuit_breaker"}
    assert {*RouterChanges.__annotations__, *tables} == set(RouterSettings.model_fields)


def test_arguments_of_from_json_say_what_settings_say() -> None:
    text = '[{"id": "a", "provider": "ollama", "url": "http://127.0.0.1:1", "models": "big,small"}]'
    for name, wrong in {"timeout": 0, "deadline": -1, "max_concurrency": 0, "tokens_per_second": 0}.items():
        with pytest.raises(ConfigurationError, match=name):
            ModelRouter.from_json(text, environment={}, **{name: wrong})  # type: ignore[arg-type]


async def test_a_role_of_the_settings_is_one_of_the_router_too() -> None:
    async with ChatServer(answers(completion("hello"))) as server:
        text = json.dumps([{"id": "a", "provider": "ollama", "url": server.url, "models": "big,small"}])
        router = ModelRouter.from_json(text, ModelSettings(roles={"reviewer": "small"}), environment={})
        options = LlmOptions(role="reviewer")
        await router.generate(ModelRequest((UserMessage("hi"),), options=options))
        await router.resolve(options).generate(ModelRequest((UserMessage("hi"),)))
    assert [body["model"] for body in server.bodies] == ["small", "small"]


@pytest.mark.parametrize("way", ["argument", "settings", "environment", "file"])
async def test_the_default_timeout_holds_for_the_first_attempt_however_it_is_set(way: str, tmp_path: Path) -> None:
    async with ChatServer() as server:
        server.will(server.stall())
        text = json.dumps([{"id": "a", "provider": "ollama", "url": server.url, "models": "m"}])
        environment = {"LLM_INSTANCES": text, "TACTICIAN_ROUTER_MAX_RETRIES": "0"}
        settings = ModelSettings(router=RouterSettings(timeout=0.5, max_retries=0))
        filed = written("[models.router]\ntimeout = 0.5\n", tmp_path)
        models: dict[str, Callable[[], LanguageModel]] = {
            "argument": lambda: ModelRouter.from_json(text, timeout=0.5, max_retries=0, environment={}),
            "settings": lambda: ModelRouter.from_json(text, settings, environment={}),
            "environment": lambda: ModelCatalog(Settings(), {**environment, "TACTICIAN_ROUTER_TIMEOUT": "0.5"}).resolve(
                LlmOptions(model="m")
            ),
            "file": lambda: ModelCatalog(filed, environment).resolve(LlmOptions(model="m")),
        }
        with pytest.raises(ModelTimeoutError, match=r"no answer within 0\.5 s"):
            await models[way]().generate(ModelRequest((UserMessage("hi"),)))


JSONS = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)


@examples(300)
@given(
    st.dictionaries(st.sampled_from(sorted(VARIABLES)), JSONS.map(json.dumps) | st.text(max_size=20), max_size=4),
)
def test_an_environment_is_settings_or_a_configuration_error(environment: dict[str, str]) -> None:
    with suppress(ConfigurationError):
        assert isinstance(apply_environment(ModelSettings(), environment), ModelSettings)
