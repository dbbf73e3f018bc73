"""Strict fakes of the providers, on loopback: each refuses with 400 what that provider refuses.

`SITES` has one entry for each provider, and the conformance suite runs against all of them. To add a provider, add
its `Site`: how it is reached, and the rules that its requests have to pass.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from aiohttp import web

from tactician.llm.custom import parse_custom_provider
from tactician.llm.model_profiles import BUILT_IN_PROFILES, ModelProfiles
from tactician.llm.provider import Provider
from tactician.llm.providers import PROVIDERS
from tactician.llm.remote import RemoteModel
from tests.support import anthropic_message_rules, anthropic_rules, chat_rules
from tests.support.chat_server import ChatServer, Received, Reply, answers
from tests.support.responses_rules import check_responses
from tests.support.rules import Body, Refused, require
from tests.support.voices import VOICES, Saying, Voice, says

KEY = "sk-strict-test-key"
VERSION = "2026-01-01"
BEARER, API_KEY, X_API_KEY = ("authorization", f"Bearer {KEY}"), ("api-key", KEY), ("x-api-key", KEY)


@dataclass(frozen=True, slots=True)
class Site:
    """A provider as it is on the internet: its path with the query, its key's header, and what it refuses."""

    provider: Provider
    model: str
    path: str
    auth: tuple[str, str]
    rules: Callable[[str, Body], None] = lambda model, body: None
    headers: Mapping[str, str] = field(default_factory=dict)
    version: str = VERSION

    @property
    def voice(self) -> Voice:
        """How its models speak."""
        return VOICES[self.provider.wire.name]

    def check(self, received: Received) -> None:
        """Raises `Refused` when the provider would refuse the request."""
        require(received.path == self.path, f"Resource not found: {received.path}", 404)
        name, value = self.auth
        require(received.headers.get(name) == value, f"Incorrect API key in {name}", 401)
        for name, value in self.headers.items():
            require(received.headers.get(name) == value, f"{name}: header is required")
        model = received.body.get("model")
        require(isinstance(model, str), "model: Field required")
        self.rules(str(model), received.body)


class StrictServer(ChatServer):
    """Checks every request before it gives its reply."""

    def __init__(self, site: Site, *replies: Reply) -> None:
        self.site = site
        super().__init__(*map(self._strict, replies or (says(site.voice, Saying("hello")),)))

    def will(self, *replies: Reply) -> None:
        super().will(*map(self._strict, replies))

    def serve(
        self, model: str | None = None, profiles: ModelProfiles = BUILT_IN_PROFILES, timeout: float = 20.0
    ) -> RemoteModel:
        """A model of this server."""
        name = model or self.site.model
        made = self.site.provider.create_endpoint(
            KEY, self.url, api_version=self.site.version, model=name, profiles=profiles
        )
        return RemoteModel(name, replace(made, timeout=timeout))

    def _strict(self, reply: Reply) -> Reply:
        async def checked(request: web.Request, received: Received) -> web.StreamResponse:
            try:
                self.site.check(received)
            except Refused as refusal:
                body = self.site.voice.error(str(refusal), refusal.code)
                return await answers(body, refusal.status)(request, received)
            return await reply(request, received)

        return checked


def _anthropic(version: str) -> Callable[[str, Body], None]:
    def rules(model: str, body: Body) -> None:
        headers = {"x-api-key": KEY, "anthropic-version": version}
        try:
            anthropic_rules.check(headers, json.loads(json.dumps(body)))
        except anthropic_message_rules.Refused as refusal:
            raise Refused(str(refusal), refusal.status) from refusal

    return rules


CUSTOM: Mapping[str, object] = {
    "apiFormat": "openai-chat",
    "auth": {"header": "X-Token", "format": None},
    "endpoints": {"chat_completions": "/gateway/chat"},
    "queryParams": {"tenant": "t 1"},
    "extraHeaders": {"X-Team": "agents"},
    "features": {"function_calling": True, "structuredOutput": True, "REASONING": True, "vision": True},
}


def _custom(api_format: str, endpoint: str) -> Provider:
    return parse_custom_provider({**CUSTOM, "apiFormat": api_format, "endpoints": {endpoint: "/gateway/chat"}})


_TEAM = {"x-team": "agents"}
_CHAT, _RESPONSES, _CUSTOM = "/v1/chat/completions", "/v1/responses", "/gateway/chat?tenant=t+1"
_FOUNDRY = f"/models/chat/completions?api-version={VERSION}"
_OPENAI = replace(PROVIDERS["openai"], elsewhere=None)
_PREVIEW = "/openai/v1/responses?api-version=preview"

SITES: Mapping[str, Site] = {
    "openai": Site(_OPENAI, "gpt-5.4", _RESPONSES, BEARER, check_responses),
    "openai-elsewhere": Site(
        PROVIDERS["openai"].for_base_url("http://x"), "my-model", _CHAT, BEARER, chat_rules.OPENAI_LIKE
    ),
    "azure-openai": Site(PROVIDERS["azure-openai"], "gpt-5.1", _PREVIEW, API_KEY, check_responses),
    "anthropic": Site(
        PROVIDERS["anthropic"],
        "claude-opus-4-7",
        "/v1/messages",
        X_API_KEY,
        _anthropic("2023-06-01"),
        {"anthropic-version": "2023-06-01"},
    ),
    "azure-anthropic": Site(
        PROVIDERS["azure-anthropic"],
        "claude-haiku-4-5",
        "/anthropic/v1/messages",
        X_API_KEY,
        _anthropic("2023-06-01"),
        {"anthropic-version": "2023-06-01"},
        "2023-06-01",
    ),
    "mistral": Site(PROVIDERS["mistral"], "mistral-large-latest", _CHAT, BEARER, chat_rules.MISTRAL),
    "azure-mistral": Site(
        PROVIDERS["azure-mistral"], "mistral-large-2411", _FOUNDRY, API_KEY, chat_rules.MISTRAL_AT_AZURE
    ),
    "grok": Site(PROVIDERS["grok"], "grok-4", _CHAT, BEARER, chat_rules.GROK),
    "azure-grok": Site(PROVIDERS["azure-grok"], "grok-3-mini", _FOUNDRY, API_KEY, chat_rules.GROK),
    "deepseek": Site(PROVIDERS["deepseek"], "deepseek-reasoner", _CHAT, BEARER, chat_rules.DEEPSEEK),
    "gemini": Site(
        PROVIDERS["gemini"], "gemini-2.5-flash", "/v1beta/openai/chat/completions", BEARER, chat_rules.GEMINI
    ),
    "openrouter": Site(PROVIDERS["openrouter"], "openai/gpt-5.4", _CHAT, BEARER, chat_rules.OPENROUTER),
    "ollama": Site(PROVIDERS["ollama"], "qwen3", _CHAT, BEARER, chat_rules.OPEN),
    "docker": Site(PROVIDERS["docker"], "ai/qwen3", "/engines/v1/chat/completions", BEARER, chat_rules.OPEN),
    "custom-chat": Site(
        _custom("openai-chat", "chat_completions"), "m", _CUSTOM, ("x-token", KEY), chat_rules.OPEN, _TEAM
    ),
    "custom-responses": Site(_custom("openai-responses", "responses"), "m", _CUSTOM, ("x-token", KEY), headers=_TEAM),
    "custom-messages": Site(_custom("anthropic-messages", "messages"), "m", _CUSTOM, ("x-token", KEY), headers=_TEAM),
}
