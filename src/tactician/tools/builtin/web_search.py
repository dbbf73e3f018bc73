"""Web search."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Annotated, Final, Self

from pydantic import Field
from typing_extensions import override

from tactician.errors import ToolError
from tactician.text import replace_surrogates
from tactician.tools.builtin.configurable import ConfigurableTool
from tactician.tools.builtin.search_providers import SearchHit, SearchProvider, find_provider
from tactician.tools.function import tool
from tactician.tools.tool import Tool

MAX_HITS: Final = 20
_MAX_QUERY: Final = 1_000
_MAX_SNIPPET: Final = 1_000


@dataclass(frozen=True)
class WebSearcher(ConfigurableTool):
    """Tool that searches the web: `web_search`.

    Attributes:
        provider: the service; by default, the environment names it by `TAVILY_API_KEY` or `SEARXNG_URL`.
    """

    provider: SearchProvider | None = None

    def with_provider(self, provider: SearchProvider) -> Self:
        """Return the tool with another service."""
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
        return [replace(hit, snippet=hit.snippet[:_MAX_SNIPPET]) for hit in hits[:limit]]

    @property
    @override
    def _function(self) -> Tool:
        return self.search


web_search: Final = WebSearcher()
