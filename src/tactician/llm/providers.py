"""Built-in providers as data: addresses, protocols and features.

OpenAI is called in its Responses format. A custom server of `OPENAI_BASE_URL` or of an instance of the
provider `openai` gets chat completions, which most servers support. An instance overrides that with
`apiFormat`, or with a URL that ends in `/v1/responses`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from tactician.llm.model import Features
from tactician.llm.provider import Provider, join_url
from tactician.llm.wire import Dialect
from tactician.llm.wire.anthropic_messages import ANTHROPIC_MESSAGES
from tactician.llm.wire.openai_chat import OPENAI_CHAT
from tactician.llm.wire.openai_responses import OPENAI_RESPONSES

__all__ = ["PROVIDERS", "OPENROUTER_RESPONSES", "IN_FORMAT", "AZURE_IN_FORMAT", "Provider", "join_url"]

_CHAT, _RESPONSES, _FOUNDRY = "/v1/chat/completions", "/v1/responses", "/models/chat/completions"

# Keywords that strict structured output refuses: OpenAI's guide "Structured outputs", "Supported schemas".
_OPENAI_CHAT = Dialect(max_tokens="max_completion_tokens", refused_keywords=frozenset({"minLength", "maxLength"}))
_OPENAI_RESPONSES = replace(
    _OPENAI_CHAT,
    top_k=False,
    native_tools={
        "web_search": {"type": "web_search"},
        "code_interpreter": {"type": "code_interpreter", "container": {"type": "auto"}},
    },
)
# Mistral's API refuses unknown fields (422), and a message of the user after a tool's result or a system message after
# any other (400, code 3230).
_MISTRAL = Dialect(
    top_k=False,
    seed="random_seed",
    reasoning_effort=False,
    short_call_ids=True,
    documents="document_url",
    stream_usage=False,
    strict_order=True,
)
_PLAIN = Dialect(top_k=False, reasoning_effort=False, documents="")
_LOCAL = Dialect(documents="")
_GEMINI = replace(_PLAIN, seed="", replayed=frozenset({"extra_content"}))
_OPENROUTER = Dialect(
    native_tools={"web_search": {"plugins": [{"id": "web"}]}}, replayed=frozenset({"reasoning_details"}), traces=True
)
# New Claude models refuse sampling parameters and think as they see fit; the model profiles know the older ones. An
# answer of more than 16384 tokens can take so long that Anthropic wants it streamed.
_CLAUDE = Dialect(
    temperature=False,
    top_k=False,
    thinking="adaptive",
    thinking_display="summarized",
    no_reasoning={"thinking": {"type": "disabled"}},
    default_max_tokens=16_384,
    caches_system=True,
    native_tools={
        "web_search": {"type": "web_search_20250305", "name": "web_search", "max_uses": 5},
        "code_interpreter": {"type": "code_execution_20260120", "name": "code_execution"},
    },
)

_OPENAI = Provider(
    "openai",
    "https://api.openai.com",
    "OPENAI_API_KEY",
    "gpt-5.4",
    path=_RESPONSES,
    wire=OPENAI_RESPONSES,
    dialect=_OPENAI_RESPONSES,
    elsewhere=Provider(
        "openai",
        None,
        path=_CHAT,
        dialect=_OPENAI_CHAT,
        native_tools_remedy=(
            'It is spoken to in openai-chat, which has no native tools. If it knows Responses, write "apiFormat": '
            '"openai-responses" in its instance, or an address that ends in /v1/responses.'
        ),
    ),
)
_ANTHROPIC = Provider(
    "anthropic",
    "https://api.anthropic.com",
    "ANTHROPIC_API_KEY",
    "claude-sonnet-5",
    path="/v1/messages",
    auth_header="x-api-key",
    auth_format="{key}",
    headers={"anthropic-version": "2023-06-01"},
    wire=ANTHROPIC_MESSAGES,
    dialect=_CLAUDE,
)
# In Azure AI Foundry every resource has its own address, and instances name an API version.
_AZURE = Provider(
    "azure", None, auth_header="api-key", auth_format="{key}", sends_api_version=True, needs_api_version=True
)
_TABLE = (
    _OPENAI,
    _ANTHROPIC,
    Provider("mistral", "https://api.mistral.ai", "MISTRAL_API_KEY", "mistral-large-latest", dialect=_MISTRAL),
    Provider("grok", "https://api.x.ai", "XAI_API_KEY", "grok-4", dialect=_PLAIN),
    Provider(
        "deepseek",
        "https://api.deepseek.com",
        "DEEPSEEK_API_KEY",
        "deepseek-chat",
        # DeepSeek has a JSON mode, but no output schema: typed output goes through a tool.
        features=Features(tools=True, json_schema=False, images=False),
        dialect=replace(_PLAIN, seed=""),
    ),
    Provider(
        "gemini",
        "https://generativelanguage.googleapis.com",
        "GEMINI_API_KEY",
        "gemini-2.5-flash",
        path="/v1beta/openai/chat/completions",
        dialect=_GEMINI,
        other_key_variables=("GOOGLE_API_KEY",),
    ),
    Provider("openrouter", "https://openrouter.ai/api", "OPENROUTER_API_KEY", "openrouter/auto", dialect=_OPENROUTER),
    Provider("ollama", "http://localhost:11434", dialect=_LOCAL),
    Provider("docker", "http://localhost:12434", path="/engines/v1/chat/completions", dialect=_LOCAL),
    # Microsoft's reference of the v1 API: Responses are at the version `preview`, whatever the instance's version is.
    replace(
        _AZURE,
        name="azure-openai",
        path="/openai/v1/responses",
        dialect=_OPENAI_RESPONSES,
        sends_api_version=False,
        query={"api-version": "preview"},
        wire=OPENAI_RESPONSES,
    ),
    # As the Anthropic SDK's client for Foundry has it: the version is a header, not a part of the query.
    replace(
        _ANTHROPIC,
        name="azure-anthropic",
        base_url=None,
        key_variable=None,
        default_model=None,
        path="/anthropic/v1/messages",
        headers={"anthropic-version": "{api_version}"},
        needs_api_version=True,
    ),
    replace(_AZURE, name="azure-mistral", path=_FOUNDRY, dialect=replace(_MISTRAL, seed="seed")),
    replace(_AZURE, name="azure-grok", path=_FOUNDRY, dialect=_PLAIN),
)
PROVIDERS: Mapping[str, Provider] = {provider.name: provider for provider in _TABLE}

# OpenRouter's reference, "Create a response": parts of an answer need an id, which plain text does not.
OPENROUTER_RESPONSES = replace(
    PROVIDERS["openrouter"],
    path=_RESPONSES,
    wire=OPENAI_RESPONSES,
    dialect=replace(
        _OPENROUTER,
        refused_keywords=_OPENAI_RESPONSES.refused_keywords,
        native_tools={"web_search": {"type": "openrouter:web_search"}},
        plain_answers=True,
    ),
)
IN_FORMAT: Mapping[str, Provider] = {
    "openai-responses": replace(_OPENAI, path="/responses", elsewhere=None),
    "openai-chat": replace(_OPENAI, path="/chat/completions", wire=OPENAI_CHAT, dialect=_OPENAI_CHAT, elsewhere=None),
    "anthropic-messages": _ANTHROPIC,
}
"""How any server is spoken to in a wire format."""
AZURE_IN_FORMAT: Mapping[str, Provider] = {
    "openai-responses": PROVIDERS["azure-openai"],
    "openai-chat": replace(
        PROVIDERS["azure-openai"], path="/openai/v1/chat/completions", wire=OPENAI_CHAT, dialect=_OPENAI_CHAT
    ),
    "anthropic-messages": replace(PROVIDERS["azure-anthropic"], headers=_ANTHROPIC.headers, needs_api_version=False),
}
"""How Azure AI Foundry is spoken to in a wire format."""
