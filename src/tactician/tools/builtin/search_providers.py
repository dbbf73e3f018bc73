"""Services that search the web, over HTTP."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field
from typing import Final, Protocol, TypeVar
from urllib.parse import urlencode, urlsplit

from pydantic import BaseModel, ConfigDict, ValidationError
from pydantic_core import to_json

from tactician.clock import SYSTEM_CLOCK, Clock
from tactician.environment import read_environment
from tactician.errors import ConfigurationError, ToolError
from tactician.frozen import frozen
from tactician.tools.builtin.web_client import WebLimits, WebRequest, send_request

T = TypeVar("T", bound=BaseModel)
_TAVILY: Final = "https://api.tavily.com/search"
_KEY: Final = "TAVILY_API_KEY"
_URL: Final = "SEARXNG_URL"
_REFUSED: Final = ": it does not accept the request or its key"
_HINTS: Final = {401: _REFUSED, 403: _REFUSED, 429: ": it was asked too often, so search again later"}


@frozen
class SearchHit:
    """Page among the results of a search."""

    title: str
    url: str
    snippet: str = ""


class SearchProvider(Protocol):
    """Service that searches the web."""

    async def search(self, query: str, limit: int) -> Sequence[SearchHit]:
        """Return at most `limit` pages, the best page first.

        Raises:
            ToolError: when the service does not answer.
        """
        ...


@frozen(kw_only=True)
class TavilySearch:
    """Tavily, which needs a key (https://docs.tavily.com).

    Attributes:
        key: the key; by default from `TAVILY_API_KEY`. No `repr` and no error shows it.
        url: the address of the service.
        timeout: seconds that a search may take.
        clock: the time.
    """

    key: str = field(default="", repr=False)
    url: str = _TAVILY
    timeout: float = 20.0
    clock: Clock = field(default=SYSTEM_CLOCK, repr=False)

    async def search(self, query: str, limit: int) -> Sequence[SearchHit]:
        """Return at most `limit` pages, the best page first.

        Raises:
            ConfigurationError: when there is no key.
            ToolError: when the service does not answer.
        """
        if not (key := (self.key or read_environment().get(_KEY, "")).strip()):
            raise ConfigurationError(f"Tavily needs a key: set {_KEY}.")
        if not key.isprintable() or not key.isascii():
            raise ConfigurationError(f"The key of Tavily has characters that no header takes: check {_KEY}.")
        headers = {"Authorization": f"Bearer {key}", "Content-Type": "application/json"}
        body = to_json({"query": query, "max_results": limit})
        answer = await _ask("Tavily", WebRequest(self.url, "POST", headers, body), _Found, self.timeout, self.clock)
        return answer.list_hits(limit)


@frozen
class SearxngSearch:
    """SearXNG, which needs no key but a server of yours, with its format `json` enabled (https://docs.searxng.org).

    Attributes:
        url: the address of the server.
        timeout: seconds that a search may take.
        clock: the time.
    """

    url: str
    timeout: float = 20.0
    clock: Clock = field(default=SYSTEM_CLOCK, repr=False, kw_only=True)

    async def search(self, query: str, limit: int) -> Sequence[SearchHit]:
        """Return at most `limit` pages, the best page first.

        Raises:
            ToolError: when the server does not answer.
        """
        url = f"{self.url.rstrip('/')}/search?{urlencode({'q': query, 'format': 'json'})}"
        answer = await _ask("SearXNG", WebRequest(url), _Found, self.timeout, self.clock)
        return answer.list_hits(limit)


def find_provider() -> SearchProvider:
    """Return the provider that the environment names.

    Raises:
        ConfigurationError: when it names none.
    """
    environment = read_environment()
    if environment.get(_KEY, "").strip():
        return TavilySearch()
    if url := environment.get(_URL, "").strip():
        if urlsplit(url).scheme not in ("http", "https"):
            raise ConfigurationError(f"{_URL} must begin with http:// or https://.")
        return SearxngSearch(url)
    raise ConfigurationError(f"web_search has no provider. Set {_KEY} or {_URL}, or use web_search.with_provider(...).")


class _Hit(BaseModel):
    model_config = ConfigDict(extra="ignore")
    title: str | None = None
    url: str
    content: str | None = None


class _Found(BaseModel):
    """Answer of both services."""

    model_config = ConfigDict(extra="ignore")
    results: list[_Hit]

    def list_hits(self, limit: int) -> list[SearchHit]:
        return [SearchHit(hit.title or "", hit.url, hit.content or "") for hit in self.results[:limit]]


async def _ask(service: str, request: WebRequest, kind: type[T], seconds: float, clock: Clock) -> T:
    """Return the answer of a service that the developer chose, so that its address may be private.

    Raises:
        ToolError: when there is no valid answer. It quotes neither the request nor the answer.
    """
    limits = WebLimits(allow_private=True, timeout=seconds, max_redirects=0)
    try:
        answer = await send_request(request, limits, clock)
    except ToolError as error:
        raise ToolError(f"{service} did not answer: {error}") from None
    if answer.status != 200:
        raise ToolError(f"{service} answered with status {answer.status}{_HINTS.get(answer.status, '')}.")
    try:
        return kind.model_validate_json(answer.body)
    except ValidationError:
        raise ToolError(f"{service} answered with something else than results.") from None
