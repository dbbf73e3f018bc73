"""Resolution of model names to the endpoints that serve them, for chat, embeddings and images alike.

The order is the same for each kind: a role, the embedded model, an instance of `LLM_INSTANCES`, a provider named before
the colon, the provider that the name's prefix implies, and the server of `OPENAI_BASE_URL`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Generic, TypeAlias, TypeVar

from tactician.config import ModelSettings
from tactician.errors import ConfigurationError, UnknownModelError
from tactician.frozen import frozen
from tactician.llm import embedded
from tactician.llm.embedded import EmbeddedModel
from tactician.llm.embeddings.local import LocalEmbeddingModel
from tactician.llm.embeddings.model import EmbeddingModel
from tactician.llm.embeddings.remote import DEFAULT_EMBEDDING_MODEL, EMBEDDING_PROVIDERS, RemoteEmbeddingModel
from tactician.llm.images import DEFAULT_IMAGE_MODEL, IMAGE_PROVIDERS, ImageModel, RemoteImageModel
from tactician.llm.instances import find_instances, parse_prices
from tactician.llm.model import LanguageModel
from tactician.llm.model_kinds import KindName
from tactician.llm.model_profiles import ModelProfiles, parse_profiles
from tactician.llm.provider_access import (
    INSTANCES_VARIABLE,
    ProviderAccess,
    check_base_urls,
    check_provider_kind,
    create_access,
    find_base_url,
    find_key,
    get_base_url_variable,
    is_enabled,
)
from tactician.llm.providers import PROVIDERS
from tactician.llm.remote import RemoteModel
from tactician.llm.routing.deployment import Deployment, ServedModel, create_deployments, format_full_name
from tactician.llm.usage import ModelPrice
from tactician.suggestions import did_you_mean

MODEL_VARIABLE = "TACTICIAN_MODEL"
THIS_PROCESS = "this process"
M = TypeVar("M", bound=ServedModel)
Build: TypeAlias = Callable[[ProviderAccess, str, ModelProfiles, Mapping[str, ModelPrice]], M]


@frozen
class ModelKind(Generic[M]):
    """Kind of models, and how their names are resolved.

    Attributes:
        name: the name of the kind in messages.
        providers: the providers that serve it.
        variable: the environment variable that names the default model.
        setting: the field of `[models]` that names the default model.
        defaults: the default model at each provider whose key is set.
        keyless: the providers whose default model needs no key at a custom base URL.
        families: the provider of a model, by the beginning of the model's name.
        examples: names that show how to name a provider.
        build: builds a model at a provider.
        build_local: builds a model in this process, for a path or the default weights.
    """

    name: KindName
    providers: Sequence[str]
    variable: str
    setting: str
    defaults: Mapping[str, str]
    keyless: Sequence[str]
    families: Mapping[str, str]
    examples: str
    build: Build[M]
    build_local: Callable[[str | None], M] | None = None

    @property
    def purpose(self) -> str:
        """Words that follow "model" in messages; empty for chat."""
        return "" if self.name == "chat" else f" for {self.name}"


def _build_chat_model(
    access: ProviderAccess, model: str, profiles: ModelProfiles, prices: Mapping[str, ModelPrice]
) -> LanguageModel:
    return RemoteModel(model, access.create_chat_endpoint(model, profiles, prices))


def _build_embedding_model(
    access: ProviderAccess, model: str, profiles: ModelProfiles, prices: Mapping[str, ModelPrice]
) -> EmbeddingModel:
    return RemoteEmbeddingModel.at_provider(access, model, prices=prices)


def _build_image_model(
    access: ProviderAccess, model: str, profiles: ModelProfiles, prices: Mapping[str, ModelPrice]
) -> ImageModel:
    return RemoteImageModel.at_provider(access, model, prices=prices)


CHAT: ModelKind[LanguageModel] = ModelKind(
    "chat",
    tuple(PROVIDERS),
    MODEL_VARIABLE,
    "default",
    {name: known.default_model for name, known in PROVIDERS.items() if known.default_model is not None},
    ("openai",),
    {
        **dict.fromkeys(("gpt-", "o1", "o3", "o4"), "openai"),
        "claude-": "anthropic",
        **dict.fromkeys(("mistral-", "magistral-", "ministral-", "codestral-", "pixtral-"), "mistral"),
        "grok-": "grok",
        "deepseek-": "deepseek",
        "gemini-": "gemini",
    },
    '"ollama:qwen3" or "openai:gpt-5.4". See `tactician models`',
    _build_chat_model,
    EmbeddedModel,
)
EMBEDDINGS: ModelKind[EmbeddingModel] = ModelKind(
    "embeddings",
    EMBEDDING_PROVIDERS,
    "TACTICIAN_EMBEDDING",
    "default_embedding",
    {"openai": DEFAULT_EMBEDDING_MODEL, "mistral": "mistral-embed", "gemini": "gemini-embedding-001"},
    EMBEDDING_PROVIDERS,
    {"text-embedding-": "openai", "mistral-embed": "mistral", "codestral-embed": "mistral", "gemini-": "gemini"},
    f'"openai:{DEFAULT_EMBEDDING_MODEL}"',
    _build_embedding_model,
    LocalEmbeddingModel,
)
IMAGES: ModelKind[ImageModel] = ModelKind(
    "images",
    IMAGE_PROVIDERS,
    "TACTICIAN_IMAGE",
    "default_image",
    {"openai": DEFAULT_IMAGE_MODEL},
    IMAGE_PROVIDERS,
    {"dall-e-": "openai", "gpt-image-": "openai"},
    f'"openai:{DEFAULT_IMAGE_MODEL}"',
    _build_image_model,
)


@frozen
class ModelEntry:
    """Model that can be used: its name, its provider or instance, its origin, and its kind."""

    name: str
    provider: str
    origin: str
    kind: KindName = "chat"

    @property
    def full_name(self) -> str:
        """Name that means exactly this provider or instance."""
        return format_full_name(self.provider, self.name) if self.provider and not is_local(self.name) else self.name


class EndpointResolver:
    """Rules that map names to models on this machine, and choose the defaults.

    Attributes:
        instances: the instances of `LLM_INSTANCES`, else of the settings.
        registered: the models that the program registered; they follow the instances' models.

    Raises:
        ConfigurationError: when the settings, `LLM_INSTANCES` or an address are not valid.
    """

    def __init__(self, settings: ModelSettings, environment: Mapping[str, str]) -> None:
        check_base_urls(environment)
        self._settings = settings
        self._environment = environment
        self._profiles = parse_profiles(settings.profiles)
        self._prices = parse_prices(settings)
        self._listed_by = INSTANCES_VARIABLE if environment.get(INSTANCES_VARIABLE) else "tactician.toml"
        self.instances = find_instances(settings, environment, self._profiles, self._prices)
        self.registered: list[ModelEntry] = []

    def choose_model(self, kind: ModelKind[M], name: str | None) -> str:
        """Return the name of the model that a role or, without a name, the default stands for.

        Raises:
            ConfigurationError: when there is no model of the kind, or the role has no model.
        """
        return self._settings.resolve_role(name or self.find_default(kind)[0])

    def find_deployments(self, kind: ModelKind[M], name: str) -> tuple[Deployment, ...]:
        """Return a deployment at each instance that lists the model, else at the provider that its name implies.

        Raises:
            UnknownModelError: when no provider or instance serves the name.
            ConfigurationError: when the key is not set, or the provider serves no such models.
            UnsupportedFeatureError: when a custom specification does not declare such models.
        """
        if kind.build_local is not None and is_local(name):
            return (Deployment(THIS_PROCESS, name, self.build_local(kind, name)),)
        if (listed := self._find_listed(name)) is not None:
            return create_deployments(self.instances, kind=kind.name, model=listed)
        access, model = self._find_access(kind, name)
        return (Deployment(access.name, name, kind.build(access, model, self._profiles, self._prices)),)

    def build_local(self, kind: ModelKind[M], name: str) -> M:
        """Return a model in this process, by a name such as `local:/models/x.gguf`."""
        assert kind.build_local is not None
        return kind.build_local(name.removeprefix("local").removeprefix(":") or None)

    def find_default(self, kind: ModelKind[M]) -> tuple[str, str]:
        """Return the name of the default model of a kind, and the reason why it is the default.

        Raises:
            ConfigurationError: when there is no model of the kind.
        """
        if name := self._environment.get(kind.variable):
            return name, f"{kind.variable} is set"
        if name := getattr(self._settings, kind.setting):
            return name, "tactician.toml says so"
        for entry in self._list_entries(kind):
            return entry.name, entry.origin
        self._check_server_models(kind)
        for entry in self._provider_entries(kind):
            return entry.name, entry.origin
        keys = ", ".join(PROVIDERS[provider].key_variable or provider for provider in kind.defaults)
        local = (
            f". Or install the embedded model. {embedded.LOCAL_INSTALL_HINT}" if kind.build_local is not None else ""
        )
        raise ConfigurationError(
            f"There is no model{kind.purpose}. Set {keys}, list a model in {INSTANCES_VARIABLE}, or name one in "
            f"{kind.variable} or as `{kind.setting}` under [models] in tactician.toml{local}"
        )

    def list_entries(self) -> tuple[ModelEntry, ...]:
        """Return all models that can be used by name, in the order in which the default is chosen."""
        return (*self._list_entries(), *self._provider_entries(CHAT))

    def list_named_entries(self) -> tuple[ModelEntry, ...]:
        """Return the models that the default and the roles name, as far as `list_entries` has no such names.

        The provider of a model that nothing serves is empty.
        """
        entry_names = {name for entry in self.list_entries() for name in (entry.name, entry.full_name)}
        entries: dict[str, ModelEntry] = {}
        for name, origin in self._list_named_models():
            if name not in entry_names:
                entries.setdefault(name, ModelEntry(name, self._find_provider_name(name), origin))
        return tuple(entries.values())

    def _list_named_models(self) -> Iterator[tuple[str, str]]:
        """Yield the names of models in the environment and the settings, and what names them."""
        variable = self._environment.get(MODEL_VARIABLE)
        default = variable or self._settings.default
        if default and not default.startswith("role:"):
            yield default, f"{MODEL_VARIABLE} is set" if variable else "tactician.toml says so"
        for role, model in self._settings.roles.items():
            yield model, f"it has the role {role}"

    def _find_provider_name(self, name: str) -> str:
        try:
            return THIS_PROCESS if is_local(name) else self._find_access(CHAT, name)[0].name
        except ConfigurationError:
            return ""

    def _list_entries(self, kind: ModelKind[M] | None = None) -> Iterator[ModelEntry]:
        """Yield the models of the instances, all or of one kind."""
        for instance in self.instances:
            for model in instance.models:
                entry = ModelEntry(model, instance.id, f"{self._listed_by} lists it", instance.find_kind(model))
                if kind is None or entry.kind == kind.name:
                    yield entry
        yield from (entry for entry in self.registered if kind is None or entry.kind == kind.name)

    def _check_server_models(self, kind: ModelKind[M]) -> None:
        """Check that no server is configured whose models are unknown: another model would be a surprise."""
        for provider in kind.defaults:
            if is_enabled(provider, self._environment) and (base_url := self._find_server(provider)) is not None:
                raise ConfigurationError(
                    f"There is no default model{kind.purpose}: {get_base_url_variable(provider)} is set to "
                    f"{_without_secrets(base_url)}, and nothing says which models that server has. Name one in "
                    f"{kind.variable}, or as `{kind.setting}` under [models] in tactician.toml"
                )

    def _find_server(self, provider: str) -> str | None:
        """Return the base URL of a server that only speaks as the provider does, with models of its own."""
        base_url, elsewhere = find_base_url(provider, self._environment), PROVIDERS[provider].elsewhere
        return None if base_url is None or elsewhere is None or PROVIDERS[provider].is_home(base_url) else base_url

    def _provider_entries(self, kind: ModelKind[M]) -> Iterator[ModelEntry]:
        for provider, model in kind.defaults.items():
            if (origin := self._origin(kind, provider)) is not None:
                yield ModelEntry(f"{provider}:{model}", provider, origin, kind.name)
        if kind.build_local is not None and embedded.is_available():
            yield ModelEntry("local", THIS_PROCESS, "the extra `local` is installed", kind.name)

    def _origin(self, kind: ModelKind[M], provider: str) -> str | None:
        """Return the reason why a provider's default model is available, or `None`."""
        if not is_enabled(provider, self._environment) or self._find_server(provider) is not None:
            return None
        if provider in kind.keyless and (base_url := find_base_url(provider, self._environment)):
            return f"{get_base_url_variable(provider)} is set to {_without_secrets(base_url)}"
        variable = PROVIDERS[provider].find_key_variable(self._environment)
        return f"{variable} is set" if find_key(provider, self._environment) else None

    def _find_listed(self, name: str) -> str | None:
        """Return the model that an instance lists under the name, or under the name without the instance's id."""
        listed = ((instance.id, model) for instance in self.instances for model in instance.models)
        return next((model for identity, model in listed if name in (model, format_full_name(identity, model))), None)

    def _find_access(self, kind: ModelKind[M], name: str) -> tuple[ProviderAccess, str]:
        provider, colon, model = name.partition(":")
        if not colon or provider not in PROVIDERS:
            provider, model = self._find_provider(kind, name), name
        check_provider_kind(provider, kind.name, kind.providers)
        return create_access(provider, model, self._environment), model

    def _find_provider(self, kind: ModelKind[M], name: str) -> str:
        """Return the provider that the model's name implies."""
        for prefix, provider in kind.families.items():
            if name.startswith(prefix):
                return provider
        if find_base_url("openai", self._environment):
            return "openai"
        entries = (*self._list_entries(kind), *self._provider_entries(kind))
        entry_names = ", ".join(dict.fromkeys(entry.name for entry in entries)) or "none"
        hint = did_you_mean(name, [entry.name.removeprefix(f"{entry.provider}:") for entry in entries])
        raise UnknownModelError(
            f"Nothing serves the model {name!r}{kind.purpose}.{hint} Known here: {entry_names}; "
            f"or name its provider, as in {kind.examples}."
        )


def is_local(name: str) -> bool:
    """Return whether a name means a model in this process."""
    return name == "local" or name.startswith("local:")


def _without_secrets(url: str) -> str:
    scheme, separator, rest = url.partition("://")
    return f"{scheme}{separator}{rest.rpartition('@')[2].partition('?')[0]}"
