"""What is known of models, and how users add to it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from tactician.config import Settings
from tactician.config.loading import load_settings
from tactician.errors import ConfigurationError
from tactician.llm import LlmOptions, ModelCatalog, ModelRequest, UserMessage
from tactician.llm.built_in_profiles import KNOWN
from tactician.llm.model_profiles import ModelProfile, ModelProfiles, parse_profiles
from tactician.llm.providers import PROVIDERS
from tactician.llm.remote import RemoteModel
from tactician.llm.routing.chat import RoutedModel
from tactician.llm.wire import Dialect


def sent(provider: str, model: str, profiles: ModelProfiles | None = None, **options: object) -> dict[str, object]:
    """What goes out beside the conversation."""
    made = PROVIDERS[provider].create_endpoint("k", "https://x" if provider.startswith("azure") else None, model=model)
    if profiles is not None:
        made = PROVIDERS[provider].create_endpoint("k", None, model=model, profiles=profiles)
    request = ModelRequest((UserMessage("hi"),), options=LlmOptions(**options))  # type: ignore[arg-type]
    body = made.wire.encode(request, model, made.dialect)
    return {
        name: value for name, value in body.items() if name not in ("model", "messages", "input", "store", "system")
    }


@pytest.mark.parametrize(
    ("provider", "model", "effort", "told"),
    [
        ("openai", "gpt-5", "high", {"reasoning": {"effort": "high"}}),
        ("openai", "gpt-5", "none", {}),
        ("openai", "gpt-5-pro", "low", {"reasoning": {"effort": "high"}}),
        ("openai", "gpt-5-mini", "xhigh", {"reasoning": {"effort": "high"}}),
        ("openai", "gpt-5.4", "none", {"temperature": 0.5, "reasoning": {"effort": "none"}}),
        ("openai", "gpt-5.4", "xhigh", {"reasoning": {"effort": "xhigh"}}),
        ("openai", "gpt-5.5", "none", {"reasoning": {"effort": "none"}}),
        ("openai", "gpt-5.6-luna", "max", {"reasoning": {"effort": "max"}}),
        ("openai", "gpt-5.1-codex-max", "none", {}),
        ("openai", "o3-mini", "enabled", {"reasoning": {"effort": "medium"}}),
        ("openai", "gpt-4.1", "high", {"temperature": 0.5}),
        ("openai", "gpt-5-chat-latest", "high", {"temperature": 0.5}),
        ("azure-openai", "gpt-5.1-chat", "high", {}),
        ("azure-openai", "our-deployment", "high", {"temperature": 0.5, "reasoning": {"effort": "high"}}),
        ("grok", "grok-4", "high", {"temperature": 0.5}),
        ("grok", "grok-4-fast", "high", {"temperature": 0.5}),
        ("grok", "grok-3", "high", {"temperature": 0.5}),
        ("grok", "grok-3-mini", "medium", {"temperature": 0.5, "reasoning_effort": "high"}),
        ("grok", "grok-4.3", "medium", {"temperature": 0.5, "reasoning_effort": "medium"}),
        ("mistral", "mistral-large-latest", "high", {"temperature": 0.5}),
        ("mistral", "mistral-small-latest", "low", {"temperature": 0.5, "reasoning_effort": "high"}),
        ("mistral", "magistral-medium-latest", "high", {"temperature": 0.5, "prompt_mode": "reasoning"}),
        ("deepseek", "deepseek-chat", "high", {"temperature": 0.5}),
        ("deepseek", "deepseek-v4-pro", "medium", {"temperature": 0.5, "reasoning_effort": "high"}),
        ("gemini", "gemini-2.0-flash", "high", {"temperature": 0.5}),
        ("gemini", "gemini-2.5-pro", "none", {"temperature": 0.5}),
        ("gemini", "gemini-2.5-flash", "none", {"temperature": 0.5, "reasoning_effort": "none"}),
        ("gemini", "gemini-2.0-flash-thinking", "low", {"temperature": 0.5, "reasoning_effort": "low"}),
        ("openrouter", "openai/gpt-5", "low", {"temperature": 0.5, "reasoning_effort": "low"}),
        ("ollama", "deepseek-r1", "low", {"temperature": 0.5, "reasoning_effort": "low"}),
    ],
)
def test_what_models_are_told(provider: str, model: str, effort: str, told: Mapping[str, object]) -> None:
    body = sent(provider, model, temperature=0.5, reasoning_effort=effort)

    body.pop("include", None)
    assert body == told


@pytest.mark.parametrize(
    ("model", "takes", "thinking"),
    [
        ("claude-3-5-sonnet-20241022", True, ""),
        ("claude-3-7-sonnet-latest", True, "budget"),
        ("claude-opus-4-20250514", True, "budget"),
        ("claude-sonnet-4-5-20250929", True, "budget"),
        ("claude-sonnet-4-6", True, "adaptive"),
        ("claude-opus-4-7", False, "adaptive"),
        ("claude-sonnet-4-8", False, "adaptive"),
        ("claude-opus-5-5", False, "adaptive"),
    ],
)
def test_new_claude_models_refuse_sampling_and_think_as_they_see_fit(model: str, takes: bool, thinking: str) -> None:
    made = PROVIDERS["anthropic"].create_endpoint("k", model=model)

    assert (made.dialect.temperature, made.features.temperature) == (takes, takes)
    assert made.dialect.thinking == thinking
    assert made.features.json_schema is not model.startswith(("claude-3", "claude-opus-4-2025"))


def test_everything_that_is_built_in_is_valid() -> None:
    for providers, rows in KNOWN.items():
        assert set(providers) <= set(PROVIDERS)
        ModelProfiles(ModelProfile(match, values) for match, values in rows.items())


def test_the_longer_pattern_wins_whatever_the_order() -> None:
    profiles = [
        ModelProfile("my-model-large*", {"temperature": True}),
        ModelProfile("my-*", {"temperature": False, "top_k": False}),
        ModelProfile("MY-MODEL*", {"reasoning_effort": ["low", "high"]}),
    ]

    values = ModelProfiles(profiles).find_values("ollama", "My-Model-Large-2")

    assert values == {"temperature": True, "top_k": False, "reasoning_effort": ("low", "high")}
    assert ModelProfiles(reversed(profiles)).find_values("ollama", "My-Model-Large-2") == values


def test_what_a_user_says_wins() -> None:
    table = ModelProfiles([ModelProfile("gpt*", {"temperature": True, "reasoning_effort": False})])

    assert sent("openai", "gpt-5.5", table, temperature=0.5, reasoning_effort="low")["temperature"] == 0.5


def test_profiles_can_be_for_one_provider_or_instance() -> None:
    table = ModelProfiles([ModelProfile("*", {"extra": {"a": 1}}, frozenset({"grok", "eu"}))])

    def extra(provider: str, name: str | None = None) -> Mapping[str, object]:
        return PROVIDERS[provider].create_endpoint("k", "https://x", name=name, model="m", profiles=table).dialect.extra

    assert (extra("grok"), extra("gemini"), extra("gemini", "eu")) == ({"a": 1}, {}, {"a": 1})


TOML = """
[models]
default = "ollama:my-model"
default_embedding = "openai:text-embedding-3-large"
roles = {reviewer = "gpt-5.4"}

[models.fallbacks]
"gpt-5.4" = ["claude-opus-4-7", "ollama:my-model"]

[[models.profiles]]
match = "my-model*"
provider = "ollama"
reasoning_effort = ["low", "high"]
temperature = false
json_schema = false
native_tools = {web_search = {web = true}}
"""


def test_profiles_from_the_configuration(tmp_path: Path) -> None:
    file = tmp_path / "tactician.toml"
    file.write_text(TOML)
    settings = load_settings(file)

    routed = ModelCatalog(settings, {}).resolve(LlmOptions())

    assert isinstance(routed, RoutedModel)
    (model,) = routed.models
    assert isinstance(model, RemoteModel)
    assert not model.features.json_schema
    assert model.endpoint.dialect.reasoning_effort == ("low", "high")
    assert model.endpoint.feature_check is not None
    assert "web_search" in model.endpoint.feature_check.supported
    assert settings.models.default_embedding == "openai:text-embedding-3-large"
    assert settings.models.fallbacks == {"gpt-5.4": ("claude-opus-4-7", "ollama:my-model")}


def test_every_mistake_in_them_comes_at_once() -> None:
    with pytest.raises(ConfigurationError) as raised:
        parse_profiles(
            [{"temprature": True}, {"match": "a", "temperature": "perhaps", "documents": "pdf"}, {"match": "b"}]
        )

    lines = str(raised.value).splitlines()
    assert lines[0] == "The model profiles are not valid:"
    assert lines[1] == '  - profile 1 (without match): match: name the models, as in match = "my-model*"'
    assert lines[2].startswith("  - profile 1 (without match): temprature: a profile has no such field; it has ")
    assert lines[3] == "  - profile 2 (a): temperature: Input should be a valid boolean, unable to interpret input"
    assert lines[4] == "  - profile 2 (a): documents: Input should be '', 'file' or 'document_url'"
    assert len(lines) == 5


def test_mistakes_in_them_show_when_the_catalog_is_made() -> None:
    settings = Settings.model_validate({"models": {"profiles": [{"match": "a", "b": 1}]}})

    with pytest.raises(ConfigurationError, match="a profile has no such field"):
        ModelCatalog(settings, {})


@pytest.mark.parametrize(
    ("known", "wanted", "told"),
    [
        (True, "anything", "anything"),
        (True, "enabled", "medium"),
        (False, "low", None),
        ((), "low", None),
        (("none", "high"), "low", "high"),
        (("none", "high"), "none", "none"),
        (("low", "high"), "medium", "high"),
        (("low", "high"), "minimal", "low"),
        (("low", "high"), "max", "high"),
        (("low",), "new-effort", "new-effort"),
    ],
)
def test_the_nearest_effort(known: bool | tuple[str, ...], wanted: str, told: str | None) -> None:
    assert Dialect(reasoning_effort=known).select_effort(wanted) == told
