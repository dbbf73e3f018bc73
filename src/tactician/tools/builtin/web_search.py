"""Web search."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Annotated, Final, Self

from pydantic import Field
from typing_extensions import override

from tactician.errors import ConfigurationError, ToolError
from tactician.text import replace_surrogates
from tactician.tools.builtin.configurable import ConfigurableTool
from tactician.tools.builtin.search_providers import SearchHit, SearchProvider, find_provider
from tactician.tools.function import tool
from tactician.tools.tool import Tool

MAX_HITS: Final = 20
_MAX_QUERY: Final = 1_000
_MAX_TITLE: Final = 300
_MAX_URL: Final = 4_000
_MAX_SNIPPET: Final = 1_000


@dataclass(frozen=True)
class WebSearcher(ConfigurableTool):
    """Tool that searches the web: `web_search`.

    Attributes:
        provider: the service; by default, the environment names it by `TAVILY_API_KEY` or `SEARXNG_URL`.
    """

    provider: SearchProvider | None = None

    def with_provider(self, provider: SearchProvider) -> Self:
        """Return the tool with another service.

        Raises:
            ConfigurationError: when it has no method `search`.
        """
        if isinstance(provider, type) or not callable(getattr(provider, "search", None)):
            raise ConfigurationError(f"{provider!r} is no search provider: it has no method `search`.")
        return replace(self, provider=provider)

    @tool(name="web_search")
    async def search(self, query: str, limit: Annotated[int, Field(ge=1, le=MAX_HITS)] = 5) -> list[SearchHit]:
        """Search the web, and return titles, addresses and excerpts of pages, the best one first.

        Args:
            query: the words to search for
            limit: number of pages, at most 20
        """
        words = replace_surrogates(query).strip()
        if not words:
            raise ToolError("The query must not be blank.")
        if len(words) > _MAX_QUERY:
            raise ToolError(f"The query is longer than {_MAX_QUERY:,} characters.")
        hits = await (self.provider or find_provider()).search(words, limit)
        return [_shorten(hit) for hit in hits[:limit] if len(hit.url) <= _MAX_URL]

    @property
    @override
    def _function(self) -> Tool:
        return self.search


def _shorten(hit: SearchHit) -> SearchHit:
    return replace(hit, title=hit.title[:_MAX_TITLE], snippet=hit.snippet[:_MAX_SNIPPET])


web_search: Final = WebSearcher()
