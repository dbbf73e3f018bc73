from __future__ import annotations

import json
import traceback

import pytest

from tactician.errors import ConfigurationError
from tactician.llm.instances import parse_instances

KEY = "sk-very-secret"


def entry(**changes: object) -> dict[str, object]:
    usual = {"id": "one", "url": "https://llm.example", "models": "gpt-5.4", "provider": "openai", "key": KEY}
    return {name: value for name, value in {**usual, **changes}.items() if value is not None}


def mistakes(*entries: object, environment: dict[str, str] | None = None) -> list[str]:
    with pytest.raises(ConfigurationError) as raised:
        parse_instances(json.dumps(entries), environment or {})
    assert KEY not in "".join(traceback.format_exception(raised.value))
    heading, *lines = str(raised.value).splitlines()
    assert heading == "LLM_INSTANCES is not valid:"
    return [line.removeprefix("  - ") for line in lines]


def test_an_instance_serves_its_models_at_its_address() -> None:
    (instance,) = parse_instances(json.dumps([entry(models=" gpt-5.4, gpt-5.4-mini ,")]))

    assert (instance.id, instance.provider, instance.models) == ("one", "openai", ("gpt-5.4", "gpt-5.4-mini"))
    assert instance.endpoint.url == "https://llm.example/v1/chat/completions"
    assert instance.endpoint.headers == {"Authorization": f"Bearer {KEY}"}
    assert KEY not in repr(instance)


def test_values_may_come_from_the_environment() -> None:
    listed = entry(
        url="https://${HOST}/x", key="${KEY}", models="${MODELS},b", provider="azure-grok", apiVersion="${VERSION}"
    )
    environment = {"HOST": "h.example", "KEY": "k", "MODELS": "a", "VERSION": "2026-01-01"}

    (instance,) = parse_instances(json.dumps([listed]), environment)

    assert instance.endpoint.url == "https://h.example/x/models/chat/completions?api-version=2026-01-01"
    assert instance.endpoint.headers == {"api-key": "k"}
    assert instance.models == ("a", "b")


def test_a_key_may_be_left_out() -> None:
    (instance,) = parse_instances(json.dumps([entry(key=None, provider="ollama")]))

    assert instance.endpoint.headers == {}


def test_what_is_disabled_is_left_out_and_may_be_incomplete() -> None:
    disabled = entry(id="two", enabled=False, provider="nobody", key="${UNSET}")

    assert [one.id for one in parse_instances(json.dumps([entry(), disabled]), {})] == ["one"]


def test_all_mistakes_of_one_entry_come_together() -> None:
    found = mistakes(
        entry(
            id=7,
            url="llm.example",
            models=["a", 1],
            provider="azure-grok",
            key="sk\nx",
            rateLimits={"a": 0, "b": "many", "c": -1},
        ),
        entry(id="limits", rateLimits={"gpt-5.4": 40, "gpt-5.5": 3}),
        entry(id="list", rateLimits=[1]),
        entry(id="format", apiFormat="anthropic-messages"),
        entry(id="no-key", url="https://eu.api.openai.com", key=None),
        entry(id="a-key", key=1, provider=None),
    )

    assert found == [
        "entry 0: id: is not a text; name the instance",
        'entry 0: url: is not a URL; it begins with "https://" or "http://" and a host',
        "entry 0: models: is not a text; name the models, separated by commas",
        "entry 0: rateLimits.a: is not a number of requests per second above 0",
        "entry 0: rateLimits.b: is not a number of requests per second above 0",
        "entry 0: rateLimits.c: is not a number of requests per second above 0",
        'entry 0: apiVersion: is missing; azure-grok needs it, as in "2024-08-01-preview"',
        "entry 0: key: has characters that no header can carry, such as a line break",
        'limits: rateLimits."gpt-5.5": is not one of the models; add it to them, or take the limit out',
        'list: rateLimits: is not an object; write requests per second by model, as in {"gpt-5.4": 40}',
        "format: apiFormat: openai speaks openai-chat or openai-responses",
        'no-key: key: is missing; write the key, or "${NAME}" for the key in an environment variable',
        "a-key: provider: is missing; name one of openai, anthropic, mistral, grok, deepseek, gemini, openrouter, "
        "ollama, docker, azure-openai, azure-anthropic, azure-mistral, azure-grok, custom",
        'a-key: key: is not a text; write the key, or "${NAME}" for the key in an environment variable',
    ]


SOURCE = """[
{"id": "openai-main", "url": "https://api.openai.com", "key": "sk-xxx", "provider": "openai", "enabled": true,
 "models": "gpt-4o,gpt-4o-mini,text-embedding-3-small,dall-e-3"},
{"id": "azure-1", "url": "https://my-resource.openai.azure.com", "key": "azure-key", "models": "gpt-4o,gpt-5.1-chat",
 "provider": "azure-openai", "apiVersion": "2024-08-01-preview", "enabled": true},
{"id": "anthropic-main", "url": "https://api.anthropic.com", "key": "sk-ant-xxx", "provider": "anthropic",
 "models": "claude-opus-4-7,claude-sonnet-4-7,claude-haiku-4-7", "enabled": true},
{"id": "azure-anthropic", "url": "https://my-resource.services.ai.azure.com", "key": "azure-key",
 "models": "claude-sonnet-4-7,claude-haiku-4-7", "provider": "azure-anthropic", "apiVersion": "2023-06-01"},
{"id": "azure-multi-model", "url": "https://my-prod-instance.openai.azure.com", "key": "azure-key",
 "models": "gpt-5.4,gpt-5.4-mini,gpt-5.4-nano", "provider": "azure-openai", "apiVersion": "2024-08-01-preview",
 "rateLimits": {"gpt-5.4": 40, "gpt-5.4-mini": 40, "gpt-5.4-nano": 50}}
]"""


def test_the_example_of_the_source() -> None:
    *_, azure, anthropic, foundry, limited = parse_instances(SOURCE, {})

    assert [limited.find_rate_limit(model) for model in (*limited.models, "other")] == [40, 40, 50, None]
    assert {one.endpoint.url for one in (azure, limited)} == {
        "https://my-resource.openai.azure.com/openai/v1/responses?api-version=preview",
        "https://my-prod-instance.openai.azure.com/openai/v1/responses?api-version=preview",
    }
    assert azure.endpoint.headers == {"api-key": "azure-key"}
    assert anthropic.endpoint.url == "https://api.anthropic.com/v1/messages"
    assert anthropic.endpoint.headers == {"x-api-key": "sk-ant-xxx", "anthropic-version": "2023-06-01"}
    assert foundry.endpoint.url == "https://my-resource.services.ai.azure.com/anthropic/v1/messages"
    assert foundry.endpoint.headers == {"x-api-key": "azure-key", "anthropic-version": "2023-06-01"}


def test_enabled_providers_are_the_only_ones() -> None:
    azure = {"ENABLED_PROVIDERS": " azure-openai, Azure-Anthropic "}

    assert [one.id for one in parse_instances(SOURCE, azure)] == ["azure-1", "azure-anthropic", "azure-multi-model"]
    assert parse_instances(SOURCE, {"ENABLED_PROVIDERS": "grok"}) == ()
    assert len(parse_instances(SOURCE, {"ENABLED_PROVIDERS": ""})) == 5


def test_an_enabled_provider_that_there_is_not_is_a_mistake() -> None:
    (found,) = mistakes(entry(), environment={"ENABLED_PROVIDERS": "openai,azure"})

    assert found.startswith("ENABLED_PROVIDERS: there is no provider 'azure'; known are openai, ")


@pytest.mark.parametrize("identity", ["local", "role"])
def test_an_id_that_names_something_else_is_a_mistake(identity: str) -> None:
    (mistake,) = mistakes(entry(id=identity))

    assert mistake == f'{identity}: id: "{identity}:..." names something else already; give the instance another id'


def test_limits_can_be_for_all_other_models() -> None:
    (instance,) = parse_instances(json.dumps([entry(rateLimits={"gpt-5.4": "${RPS}", "*": 2})]), {"RPS": "0.5"})

    assert (instance.find_rate_limit("gpt-5.4"), instance.find_rate_limit("other")) == (0.5, 2)


@pytest.mark.parametrize(
    ("url", "api_format", "path"),
    [
        ("https://api.openai.com", None, "/v1/responses"),
        ("https://api.openai.com/v1/", None, "/v1/responses"),
        ("https://eu.api.openai.com", None, "/v1/responses"),
        ("https://notapi.openai.com.example", None, "/v1/chat/completions"),
        ("https://vllm.example/v1", None, "/v1/chat/completions"),
        ("https://gateway.example/v1/responses", None, "/v1/responses"),
        ("https://gateway.example", "openai-responses", "/v1/responses"),
        ("https://api.openai.com", "openai-chat", "/v1/chat/completions"),
    ],
)
def test_openai_speaks_responses_and_servers_like_it_chat(url: str, api_format: str | None, path: str) -> None:
    (instance,) = parse_instances(json.dumps([entry(url=url, apiFormat=api_format)]), {})

    endpoint = instance.create_model("gpt-5.4").endpoint
    assert endpoint.url.endswith(path)
    assert endpoint.url.count("/v1") == 1
    assert endpoint.wire.name == ("openai-responses" if path == "/v1/responses" else "openai-chat")


def test_settings_of_other_programs_are_passed_over() -> None:
    assert len(parse_instances(json.dumps([entry(rateLimitTier="high")]))) == 1


def test_an_empty_list_is_no_mistake() -> None:
    assert parse_instances("[]") == ()


def test_all_mistakes_come_in_one_error_without_a_key() -> None:
    found = mistakes(
        entry(id=None),
        entry(id="a", provider="opnai"),
        entry(id="b", provider="azure-mistral"),
        entry(id="c", models=" , "),
        entry(id="d", key="${D_KEY}", url="${D_URL}"),
        entry(id="e"),
        entry(id="e"),
        entry(id="f", enabled="perhaps"),
    )

    assert found == [
        "entry 0: id: is missing; name the instance",
        "a: provider: there is no 'opnai'; known are openai, anthropic, mistral, grok, deepseek, gemini, openrouter, "
        "ollama, docker, azure-openai, azure-anthropic, azure-mistral, azure-grok, custom. Did you mean 'openai'?",
        'b: apiVersion: is missing; azure-mistral needs it, as in "2024-08-01-preview"',
        "c: models: is empty; name at least one, separated by commas",
        "d: url: the environment variable D_URL is not set; set it, or write the value",
        "d: key: the environment variable D_KEY is not set; set it, or write the value",
        "f: enabled: is neither true nor false",
        "e: id: is used twice; every instance needs its own",
    ]


@pytest.mark.parametrize("text", ["", "nonsense", f'{{"key": "{KEY}"}}', f'["{KEY}"]', f'[{{"key": "{KEY}"'])
def test_what_is_no_json_list_of_objects(text: str) -> None:
    with pytest.raises(ConfigurationError, match="LLM_INSTANCES is not valid") as raised:
        parse_instances(text)

    assert KEY not in "".join(traceback.format_exception(raised.value))


def test_a_variable_may_have_a_default_and_a_dollar_may_be_meant() -> None:
    listed = entry(url="https://${HOST:-h.example}/x", models="${MODELS:-}a", key="$${KEY}", provider="openai")

    (instance,) = parse_instances(json.dumps([listed]), {"KEY": "${HOST}"})

    assert instance.endpoint.url == "https://h.example/x/v1/chat/completions"
    assert (instance.models, instance.endpoint.headers) == (("a",), {"Authorization": "Bearer ${KEY}"})


def test_what_a_variable_stands_for_is_not_looked_at_again() -> None:
    (instance,) = parse_instances(json.dumps([entry(key="${A}")]), {"A": "${B}", "B": "b"})

    assert instance.endpoint.headers == {"Authorization": "Bearer ${B}"}


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("[" * 100_000, "it is nested more than 128 deep"),
        (f"[{' ' * 2_000_000}]", "it has more than 2,000,000 characters"),
        ('[{"id": "a", "id": "b"}]', "line 1: 'id' appears twice in an object"),
        ('[{}, "x"]', "[1]: Input should be a valid object"),
        ("{}", "Input should be a valid array"),
    ],
)
def test_what_is_too_large_or_no_list(text: str, why: str) -> None:
    with pytest.raises(ConfigurationError) as raised:
        parse_instances(text)

    assert str(raised.value) == f"LLM_INSTANCES is not valid:\n  - {why}"


def test_of_very_many_mistakes_a_hundred_are_told() -> None:
    found = mistakes(*({} for _ in range(200)))

    assert found[0] == "entry 0: id: is missing; name the instance"
    assert (len(found), found[-1]) == (101, "and 700 more")
