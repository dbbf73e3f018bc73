"""Whatever stands in the lists of instances, specifications and base URLs: instances, or a configuration error."""

from __future__ import annotations

import json
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tactician import ModelRouter
from tactician.config import Settings
from tactician.errors import ConfigurationError, TacticianError
from tactician.llm import ModelCatalog
from tactician.llm.instance import Instance
from tactician.llm.instances import parse_instances
from tests.support.effort import FUZZED, examples

SCALARS = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=12)
    | st.sampled_from(["https://a.example", "https://a]b", "http://x:y@h", "${KEY}", "${", "custom", "openai", 10**400])
)
JSONS = st.recursive(
    SCALARS, lambda one: st.lists(one, max_size=3) | st.dictionaries(st.text(max_size=6), one, max_size=3), max_leaves=6
)
BY_MODEL = st.dictionaries(st.sampled_from(["m", "*", "other"]), SCALARS, max_size=3)
SPECIFICATIONS = st.fixed_dictionaries(
    {},
    optional={
        "apiFormat": st.sampled_from(["openai-chat", "openai-responses", "anthropic-messages", "x"]) | SCALARS,
        "auth": st.fixed_dictionaries({}, optional={"header": SCALARS | st.just("X-Key"), "format": SCALARS}),
        "endpoints": st.dictionaries(st.sampled_from(["chat_completions", "messages"]), SCALARS | st.just("/p")),
        "queryParams": JSONS,
        "extraHeaders": st.dictionaries(st.text(max_size=5), SCALARS, max_size=2),
        "features": JSONS,
        "modelPricing": JSONS,
    },
)
ENTRIES = st.fixed_dictionaries(
    {},
    optional={
        "id": SCALARS | st.just("one"),
        "provider": st.sampled_from(["openai", "anthropic", "azure-openai", "custom", "ollama"]) | SCALARS,
        "url": SCALARS | st.just("https://a.example/v1"),
        "key": SCALARS | st.just("sk-secret-0123456789"),
        "models": SCALARS | st.just("m") | st.lists(SCALARS, max_size=3),
        "rateLimits": BY_MODEL | JSONS,
        "tokenLimits": BY_MODEL | JSONS,
        "maxConcurrency": BY_MODEL | JSONS,
        "kinds": st.dictionaries(st.just("m"), st.sampled_from(["chat", "embeddings", "images", "x"])) | JSONS,
        "apiVersion": SCALARS,
        "apiFormat": st.sampled_from(["openai-chat", "openai-responses"]) | SCALARS,
        "enabled": SCALARS | st.just(True),
        "custom": SPECIFICATIONS | JSONS,
    },
)


@examples(FUZZED)
@given(st.lists(ENTRIES | JSONS, max_size=3) | JSONS, st.booleans())
def test_a_list_is_instances_or_a_configuration_error(data: object, has_key: bool) -> None:
    text, environment = json.dumps(data), {"KEY": "sk-1"} if has_key else {}
    try:
        instances = parse_instances(text, environment)
    except ConfigurationError as error:
        assert "sk-secret" not in str(error)  # noqa: PT017 - either outcome is right
    else:
        assert all(isinstance(one, Instance) for one in instances)
        ModelRouter.from_json(text, environment=environment)


@examples(FUZZED)
@given(st.text(max_size=40))
def test_a_text_is_instances_or_a_configuration_error(text: str) -> None:
    with suppress(ConfigurationError):
        parse_instances(text, {})


URLS = st.text(max_size=20) | st.builds(
    lambda scheme, host, rest: scheme + host + rest,
    st.sampled_from(["http://", "https://", "ftp://", "//", ""]),
    st.sampled_from(["a.example", "a]b", "[::1]", "[", "user:pw@h", "h:99999", "h:x", "", "\ud800"]),
    st.text(max_size=8),
)


@examples(FUZZED)
@given(URLS, st.sampled_from(["OPENAI_BASE_URL", "OLLAMA_BASE_URL", "MISTRAL_BASE_URL"]))
def test_an_address_is_used_or_a_configuration_error(url: str, variable: str) -> None:
    with suppress(TacticianError):
        catalog = ModelCatalog(Settings(), {variable: url, "TACTICIAN_MODEL": "openai:m", "OPENAI_API_KEY": "k"})
        assert catalog.default == ("openai:m", "TACTICIAN_MODEL is set")
        catalog.list_entries()


@pytest.mark.parametrize("number", [10**400, -(10**400), 1e308, "1e999", "nan", "٣"])
@pytest.mark.parametrize("field", ["rateLimits", "tokenLimits", "maxConcurrency"])
def test_a_limit_of_any_size_is_a_limit_or_a_configuration_error(field: str, number: object) -> None:
    entry = {"id": "one", "provider": "ollama", "url": "http://h", "models": "m", field: {"m": number}}
    with suppress(ConfigurationError):
        assert len(parse_instances(json.dumps([entry]), {})) == 1
