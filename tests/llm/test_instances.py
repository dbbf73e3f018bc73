from __future__ import annotations

import json
import traceback

import pytest

from tactician.errors import ConfigurationError
from tactician.llm import parse_instances

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

    assert found[0] == "0.id: Field required"
    assert found[1].startswith("7.enabled: Input should be a valid boolean")
    assert found[2].startswith("a: unknown provider 'opnai'; known are openai, anthropic, ")
    assert found[3:] == [
        "b: azure-mistral needs apiVersion",
        "c: models is empty; name at least one, separated by commas",
        "d: the environment variable D_KEY is not set",
        "d: the environment variable D_URL is not set",
        "e: the id is used twice",
    ]


@pytest.mark.parametrize("text", ["", "nonsense", f'{{"key": "{KEY}"}}', f'["{KEY}"]', f'[{{"key": "{KEY}"'])
def test_what_is_no_json_list_of_objects(text: str) -> None:
    with pytest.raises(ConfigurationError, match="LLM_INSTANCES is not valid") as raised:
        parse_instances(text)

    assert KEY not in "".join(traceback.format_exception(raised.value))
