"""Which model a name stands for, and which one is the default and why."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier
from typing import ClassVar

import pytest

from tactician.config import ModelSettings, Settings
from tactician.config.loading import load_settings
from tactician.errors import ConfigurationError, UnknownModelError
from tactician.llm import EmbeddedModel, LanguageModel, LlmOptions, ModelCatalog, OneModel
from tactician.llm.model_sources import as_model_source
from tactician.llm.providers import PROVIDERS
from tactician.llm.remote import RemoteModel
from tactician.llm.routing.chat import RoutedModel
from tactician.testing import ScriptedModel

INSTANCES = json.dumps(
    [
        {"id": "eu", "url": "https://eu.example", "models": "gpt-5.4,house-model", "provider": "openai", "key": "k1"},
        {"id": "us", "url": "https://us.example", "models": "gpt-5.4", "provider": "openai", "key": "k2"},
    ]
)
KEYS = {one.key_variable: f"sk-{one.name}" for one in PROVIDERS.values() if one.key_variable}


def catalog(environment: Mapping[str, str] | None = None, settings: ModelSettings | None = None) -> ModelCatalog:
    return ModelCatalog(Settings(models=settings or ModelSettings()), environment or {})


def find(source: ModelCatalog, name: str) -> LanguageModel:
    return source.resolve(LlmOptions(model=name))


def behind(source: ModelCatalog, name: str) -> tuple[LanguageModel, ...]:
    model = find(source, name)
    assert isinstance(model, RoutedModel)
    return model.models


def served(source: ModelCatalog, name: str) -> list[str]:
    return [model.name for model in behind(source, name)]


def remote(source: ModelCatalog, name: str) -> RemoteModel:
    (model,) = behind(source, name)
    assert isinstance(model, RemoteModel)
    return model


@pytest.fixture
def with_weights(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tactician.llm.embedded.is_available", lambda: True)


@pytest.fixture
def without_weights(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tactician.llm.embedded.is_available", lambda: False)


class TestTheDefault:
    EVERYTHING: ClassVar = {
        "TACTICIAN_MODEL": "role:writer",
        "LLM_INSTANCES": INSTANCES,
        "OPENAI_API_KEY": "sk-o",
        "ANTHROPIC_API_KEY": "sk-a",
        "MISTRAL_API_KEY": "sk-m",
    }
    ORDER = (
        ("TACTICIAN_MODEL", "role:writer", "TACTICIAN_MODEL is set"),
        ("", "house-model", "tactician.toml says so"),
        ("LLM_INSTANCES", "gpt-5.4", "LLM_INSTANCES lists it"),
        ("OPENAI_API_KEY", "openai:gpt-5.4", "OPENAI_API_KEY is set"),
        ("ANTHROPIC_API_KEY", "anthropic:claude-sonnet-5", "ANTHROPIC_API_KEY is set"),
        ("MISTRAL_API_KEY", "mistral:mistral-large-latest", "MISTRAL_API_KEY is set"),
        ("", "local", "the extra `local` is installed"),
    )

    @pytest.mark.usefixtures("with_weights")
    def test_the_more_explicit_wins_and_says_why(self) -> None:
        environment = dict(self.EVERYTHING)
        settings = ModelSettings(default="house-model")

        for variable, name, reason in self.ORDER:
            assert catalog(environment, settings).default == (name, reason)
            environment.pop(variable, None)
            settings = settings if variable else ModelSettings()

    def test_a_server_of_ones_own_has_no_model_that_nobody_named(self) -> None:
        environment = {"OPENAI_BASE_URL": "http://localhost:8000/v1?token=t", "ANTHROPIC_API_KEY": "sk-a"}
        source = catalog(environment)

        with pytest.raises(
            ConfigurationError,
            match=r"OPENAI_BASE_URL is set to http://localhost:8000/v1, .*Name one in TACTICIAN_MODEL, or as `default`",
        ):
            _ = source.default
        with pytest.raises(ConfigurationError, match="TACTICIAN_EMBEDDING, or as `default_embedding`"):
            source.embedding_model()
        assert "openai" not in [entry.provider for entry in source.list_entries()]
        assert catalog({**environment, "TACTICIAN_MODEL": "qwen3"}).default[0] == "qwen3"

    @pytest.mark.parametrize("url", ["https://eu.api.openai.com", "https://api.openai.com/v1"])
    def test_openai_at_another_address_of_its_own_has_its_default_model(self, url: str) -> None:
        assert catalog({"OPENAI_BASE_URL": url}).default == ("openai:gpt-5.4", f"OPENAI_BASE_URL is set to {url}")

    @pytest.mark.parametrize(
        "url", ["localhost:8000/v1", "vllm", "ftp://x/v1", "http://", "https://a]b", "http://x:99999999"]
    )
    @pytest.mark.parametrize("variable", ["OPENAI_BASE_URL", "OLLAMA_BASE_URL", "AZURE_OPENAI_BASE_URL"])
    def test_an_address_that_is_none_is_an_error_at_once(self, variable: str, url: str) -> None:
        with pytest.raises(ConfigurationError) as raised:
            catalog({variable: url})

        assert str(raised.value) == f'{variable} is not a URL; it begins with "https://" or "http://" and a host'

    def test_openai_comes_before_the_other_keys(self) -> None:
        assert catalog(dict(reversed(KEYS.items()))).default == ("openai:gpt-5.4", "OPENAI_API_KEY is set")

    @pytest.mark.parametrize("variable", ["TACTICIAN_MODEL", "LLM_INSTANCES", "OPENAI_BASE_URL", "OPENAI_API_KEY"])
    @pytest.mark.usefixtures("with_weights")
    def test_an_empty_variable_counts_as_unset(self, variable: str) -> None:
        assert catalog({variable: ""}).default[0] == "local"

    @pytest.mark.usefixtures("without_weights")
    def test_without_any_model_the_error_says_what_to_do(self) -> None:
        with pytest.raises(ConfigurationError, match=r"OPENAI_API_KEY.*LLM_INSTANCES.*pip install"):
            _ = catalog().default

    @pytest.mark.usefixtures("with_weights")
    def test_options_without_a_model_get_the_default(self) -> None:
        source = catalog(settings=ModelSettings(default="role:x", roles={"x": "ollama:qwen3"}))

        assert source.resolve(LlmOptions(temperature=1)).name == "ollama:qwen3"

    @pytest.mark.usefixtures("with_weights")
    def test_entries_are_all_that_can_be_named(self) -> None:
        entries = catalog({"LLM_INSTANCES": INSTANCES, "MISTRAL_API_KEY": "sk-m"}).list_entries()

        assert [(entry.name, entry.provider) for entry in entries] == [
            ("gpt-5.4", "eu"),
            ("house-model", "eu"),
            ("gpt-5.4", "us"),
            ("mistral:mistral-large-latest", "mistral"),
            ("local", "this process"),
        ]


class TestNames:
    def test_the_same_name_is_the_same_object(self) -> None:
        source = catalog(KEYS)

        assert find(source, "gpt-5.4") is find(source, "gpt-5.4")

    def test_threads_that_name_it_first_at_the_same_time_share_it(self) -> None:
        interval = sys.getswitchinterval()
        sys.setswitchinterval(1e-6)
        try:
            for _ in range(20):
                source, barrier = catalog(KEYS), Barrier(8)

                def name_it(_: int, source: ModelCatalog = source, barrier: Barrier = barrier) -> LanguageModel:
                    barrier.wait(30)
                    return find(source, "gpt-5.4")

                with ThreadPoolExecutor(8) as threads:
                    assert len({id(model) for model in threads.map(name_it, range(8))}) == 1
        finally:
            sys.setswitchinterval(interval)

    def test_local_is_the_embedded_model(self) -> None:
        model = find(catalog(), "local")

        assert isinstance(model, EmbeddedModel)
        assert (model.name, model.path) == ("local", None)

    def test_local_with_a_path_is_that_file(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("HOME", "/home/me")
        at_root, at_home = find(catalog(), "local:/models/x.gguf"), find(catalog(), "local:~/x.gguf")

        assert isinstance(at_root, EmbeddedModel)
        assert isinstance(at_home, EmbeddedModel)
        assert (at_root.name, at_root.path) == ("local:/models/x.gguf", Path("/models/x.gguf"))
        assert at_home.path == Path("/home/me/x.gguf")

    def test_an_instance_serves_its_models_before_anyone_else(self) -> None:
        source = catalog({"LLM_INSTANCES": INSTANCES, **KEYS})

        assert served(source, "gpt-5.4") == ["eu:gpt-5.4", "us:gpt-5.4"]
        assert remote(source, "us:gpt-5.4").endpoint.url == "https://us.example/v1/chat/completions"
        assert served(source, "house-model") == ["eu:house-model"]

    @pytest.mark.parametrize("name", [one.name for one in PROVIDERS.values() if one.key_variable])
    def test_a_provider_can_be_named(self, name: str) -> None:
        model = remote(catalog(KEYS), f"{name}:some-model")

        assert (model.name, model.model) == (f"{name}:some-model", "some-model")
        assert f"sk-{name}" in " ".join(model.endpoint.headers.values())

    @pytest.mark.parametrize(
        ("name", "provider"),
        [
            ("gpt-5.4", "openai"),
            ("o3-mini", "openai"),
            ("claude-sonnet-4-7", "anthropic"),
            ("mistral-large-latest", "mistral"),
            ("magistral-medium", "mistral"),
            ("grok-4", "grok"),
            ("deepseek-chat", "deepseek"),
            ("gemini-2.5-flash", "gemini"),
        ],
    )
    def test_a_model_is_known_by_its_family(self, name: str, provider: str) -> None:
        assert served(catalog(KEYS), name) == [f"{provider}:{name}"]

    def test_ollama_needs_no_key(self) -> None:
        model = remote(catalog(), "ollama:qwen3:4b")

        assert model.model == "qwen3:4b"
        assert model.endpoint.url == "http://localhost:11434/v1/chat/completions"
        assert model.endpoint.headers == {}

    def test_a_base_url_of_a_provider_can_be_set_and_needs_no_key(self) -> None:
        source = catalog({"OLLAMA_BASE_URL": "http://box:1", "OPENAI_BASE_URL": "http://vllm:8000/v1"})

        assert remote(source, "ollama:x").endpoint.url == "http://box:1/v1/chat/completions"
        assert remote(source, "openai:x").endpoint.url == "http://vllm:8000/v1/chat/completions"

    def test_a_server_of_ones_own_may_serve_any_name(self) -> None:
        assert served(catalog({"OPENAI_BASE_URL": "http://vllm:8000/v1"}), "my-tuned-model") == [
            "openai:my-tuned-model"
        ]

    @pytest.mark.parametrize("name", ["gpt-5.4", "openai:gpt-5.4"])
    def test_a_missing_key_names_its_variable(self, name: str) -> None:
        with pytest.raises(ConfigurationError, match=r"openai:gpt-5\.4: set OPENAI_API_KEY to your key for openai"):
            find(catalog(), name)

    def test_a_provider_without_an_address_says_where_to_configure_it(self) -> None:
        with pytest.raises(
            ConfigurationError, match="azure-openai has no fixed address; configure it in LLM_INSTANCES"
        ):
            find(catalog(), "azure-openai:gpt-5.4")

    def test_an_unknown_model_gets_a_suggestion(self) -> None:
        with pytest.raises(
            UnknownModelError, match=r"'hose-model'\. Did you mean 'house-model'\? Known here: gpt-5\.4"
        ):
            find(catalog({"LLM_INSTANCES": INSTANCES}), "hose-model")

    def test_a_suggestion_is_a_name_without_its_provider(self) -> None:
        with pytest.raises(UnknownModelError, match=r"Did you mean 'mistral-large-latest'\? Known here: mistral:"):
            find(catalog({"MISTRAL_API_KEY": "sk-m"}), "mistal-large-latest")

    @pytest.mark.usefixtures("without_weights")
    def test_an_unknown_model_among_none(self) -> None:
        with pytest.raises(UnknownModelError, match=r"'whatever'\. Known here: none; or name its provider, as in"):
            find(catalog(), "whatever")

    def test_mistakes_in_the_instances_show_at_once(self) -> None:
        with pytest.raises(ConfigurationError, match="LLM_INSTANCES is not valid"):
            catalog({"LLM_INSTANCES": "[{}]"})


class TestRoles:
    ROLES = ModelSettings(roles={"reviewer": "ollama:big", "again": "role:again"})

    def test_a_role_stands_for_a_model(self) -> None:
        source = catalog(settings=self.ROLES)

        assert (
            source.resolve(LlmOptions(role="reviewer")) is find(source, "role:reviewer") is find(source, "ollama:big")
        )

    def test_the_model_wins_over_the_role(self) -> None:
        assert (
            catalog(settings=self.ROLES).resolve(LlmOptions(model="ollama:small", role="reviewer")).name
            == "ollama:small"
        )

    def test_an_unknown_role_says_how_to_add_it(self) -> None:
        with pytest.raises(ConfigurationError) as raised:
            find(catalog(settings=self.ROLES), "role:writer")

        assert '`writer = "<model>"` to [models.roles] in tactician.toml' in str(raised.value)
        assert "(configured roles: again, reviewer)" in str(raised.value)

    def test_a_role_cannot_stand_for_a_role(self) -> None:
        with pytest.raises(ConfigurationError, match="'again' names 'role:again'"):
            find(catalog(settings=self.ROLES), "role:again")


def test_one_model_stands_for_every_name() -> None:
    model = ScriptedModel()

    assert as_model_source(model).resolve(LlmOptions(model="gpt-5.4")) is model
    assert as_model_source(source := OneModel(model)) is source


class TestSettings:
    def test_are_read_from_a_named_file(self, tmp_path: Path) -> None:
        file = tmp_path / "t.toml"
        file.write_text('[models]\ndefault = "local"\nroles = {writer = "gpt-5.4"}')

        assert load_settings(file).models == ModelSettings(default="local", roles={"writer": "gpt-5.4"})

    def test_are_read_from_the_file_that_the_environment_names(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        (tmp_path / "t.toml").write_text('models.default = "a"')
        monkeypatch.setenv("TACTICIAN_CONFIG", str(tmp_path / "t.toml"))

        assert load_settings().models.default == "a"

    def test_are_read_from_the_working_directory(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.delenv("TACTICIAN_CONFIG", raising=False)
        monkeypatch.chdir(tmp_path)
        assert load_settings() == Settings()

        (tmp_path / "tactician.toml").write_text('models.default = "b"')
        assert load_settings().models.default == "b"
        assert ModelCatalog(environment={}).default == ("b", "tactician.toml says so")

    @pytest.mark.parametrize(
        ("content", "message"),
        [
            ("[model]\n", "line 1: model: there is no such field; did you mean 'models'"),
            ("[models]\ndefualt = 'x'", r"line 2: models\.defualt: there is no such field; did you mean 'default'"),
            ("[models]\ndefault = 7", r"line 2: models\.default: Input should be a valid string"),
            ("[models]\nroles = {a = 1}\ndefault = 2", r"line 3: models\.default: .*\n  - line 2: models\.roles\.a: "),
            ("models = ", "line 1: it is not TOML: Invalid value"),
        ],
    )
    def test_mistakes_are_named_with_the_file(self, tmp_path: Path, content: str, message: str) -> None:
        file = tmp_path / "t.toml"
        file.write_text(content)

        with pytest.raises(ConfigurationError, match=message) as raised:
            load_settings(file)

        assert str(raised.value).startswith(str(file))

    def test_a_file_that_is_no_text(self, tmp_path: Path) -> None:
        (tmp_path / "t.toml").write_bytes(b"\xff\xfe")

        with pytest.raises(ConfigurationError, match="it cannot be read: the file is not UTF-8"):
            load_settings(tmp_path / "t.toml")

    def test_a_named_file_has_to_exist(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        with pytest.raises(ConfigurationError, match="the configuration file does not exist"):
            load_settings(tmp_path / "t.toml")

        monkeypatch.setenv("TACTICIAN_CONFIG", str(tmp_path / "other.toml"))
        with pytest.raises(ConfigurationError, match=r"other\.toml: the configuration file does not exist"):
            load_settings()


class TestEnabledProviders:
    ENVIRONMENT: ClassVar = {**KEYS, "ENABLED_PROVIDERS": "anthropic"}

    def test_single_keys_of_other_providers_are_as_if_they_were_not_set(self) -> None:
        providers = {entry.provider for entry in catalog(self.ENVIRONMENT).list_entries()}

        assert providers - {"this process"} == {"anthropic"}

    def test_naming_one_says_why_not(self) -> None:
        with pytest.raises(ConfigurationError, match="openai is not among the providers that ENABLED_PROVIDERS names"):
            find(catalog(self.ENVIRONMENT), "openai:gpt-5.4")


def test_models_that_do_not_talk_are_no_default() -> None:
    listed = [{"id": "eu", "url": "https://eu.example", "models": "text-embedding-3-small,dall-e-3,gpt-5.4",
               "provider": "openai", "key": "k"}]  # fmt: skip

    assert catalog({"LLM_INSTANCES": json.dumps(listed)}).default[0] == "gpt-5.4"
