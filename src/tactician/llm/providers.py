"""The providers that speak `openai-chat`, as data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from tactician.llm.model import Features
from tactician.llm.remote import FULL_FEATURES, Endpoint
from tactician.llm.wire import DEFAULT_DIALECT, Dialect

# What strict structured output refuses: OpenAI's guide, "Supported schemas".
_OPENAI = Dialect(max_tokens="max_completion_tokens", refused_keywords=frozenset({"minLength", "maxLength"}))
_TOOLS_ONLY = Features(tools=True, json_schema=False, images=True)


@dataclass(frozen=True, slots=True)
class Provider:
    """How to reach a provider.

    Attributes:
        base_url: where its API is; an environment variable or an instance can say otherwise.
        path: what follows the base URL.
        key_variable: the environment variable of the key; `None` when it needs none.
        default_model: the model to use when its key is set and nobody says which model.
        auth_header: the header that carries the key, in the form `auth_format`.
        sends_api_version: whether an instance's `apiVersion` goes into the query.
    """

    name: str
    base_url: str | None
    key_variable: str | None = None
    default_model: str | None = None
    path: str = "/v1/chat/completions"
    auth_header: str = "Authorization"
    auth_format: str = "Bearer {key}"
    features: Features = FULL_FEATURES
    dialect: Dialect = DEFAULT_DIALECT
    sends_api_version: bool = False

    def endpoint(
        self, key: str | None, base_url: str | None = None, *, name: str | None = None, api_version: str | None = None
    ) -> Endpoint:
        """The endpoint for a key, at `base_url` or the provider's own."""
        base = (base_url or self.base_url or "").rstrip("/")
        path = self.path.removeprefix("/v1") if base.endswith("/v1") else self.path
        query = f"?api-version={api_version}" if self.sends_api_version and api_version else ""
        headers = {self.auth_header: self.auth_format.format(key=key.strip())} if key and key.strip() else {}
        return Endpoint(name or self.name, f"{base}{path}{query}", headers, self.features, dialect=self.dialect)


def _azure(name: str, path: str, dialect: Dialect = DEFAULT_DIALECT, *, versioned: bool = True) -> Provider:
    return Provider(
        name, None, path=path, auth_header="api-key", auth_format="{key}", dialect=dialect, sends_api_version=versioned
    )


_TABLE = (
    Provider("openai", "https://api.openai.com", "OPENAI_API_KEY", "gpt-5.4", dialect=_OPENAI),
    # Anthropic's OpenAI-compatible endpoint ignores `response_format`: typed output goes through a tool there.
    Provider("anthropic", "https://api.anthropic.com", "ANTHROPIC_API_KEY", "claude-sonnet-4-7", features=_TOOLS_ONLY),
    Provider("mistral", "https://api.mistral.ai", "MISTRAL_API_KEY", "mistral-large-latest"),
    Provider("grok", "https://api.x.ai", "XAI_API_KEY", "grok-4"),
    Provider("deepseek", "https://api.deepseek.com", "DEEPSEEK_API_KEY", "deepseek-chat", features=_TOOLS_ONLY),
    Provider(
        "gemini",
        "https://generativelanguage.googleapis.com",
        "GEMINI_API_KEY",
        "gemini-2.5-flash",
        path="/v1beta/openai/chat/completions",
    ),
    Provider("openrouter", "https://openrouter.ai/api", "OPENROUTER_API_KEY", "openrouter/auto"),
    Provider("ollama", "http://localhost:11434"),
    _azure("azure-openai", "/openai/v1/chat/completions", _OPENAI, versioned=False),
    _azure("azure-mistral", "/models/chat/completions"),
    _azure("azure-grok", "/models/chat/completions"),
)
PROVIDERS: Mapping[str, Provider] = {provider.name: provider for provider in _TABLE}
