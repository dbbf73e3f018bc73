"""Web search by providers over HTTP, against servers on loopback addresses."""

from __future__ import annotations

import json
import traceback
from collections.abc import Sequence

import pytest
from aiohttp import web

from tactician.errors import ConfigurationError, ToolError
from tactician.testing import FakeClock
from tactician.tools import SearchHit, SearxngSearch, TavilySearch, web_search
from tactician.tools.builtin.search_providers import SearchProvider
from tests.support.raw_server import RawServer
from tests.tools.builtin.support import Site, answers, call, redirects, refuse

KEY = "tvly-secret-key"
FOUND = json.dumps(
    {
        "query": "frogs",
        "results": [
            {"title": "Frogs", "url": "https://frogs.example/", "content": "All about frogs", "score": 0.9},
            {"title": None, "url": "https://ears.example/", "content": None, "engine": "x"},
            {"title": "Third", "url": "https://third.example/"},
        ],
    }
)
HITS = [
    {"title": "Frogs", "url": "https://frogs.example/", "snippet": "All about frogs"},
    {"title": "", "url": "https://ears.example/", "snippet": ""},
]


@pytest.fixture(autouse=True)
def no_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TAVILY_API_KEY", raising=False)
    monkeypatch.delenv("SEARXNG_URL", raising=False)


async def test_tavily_gets_the_key_in_a_header() -> None:
    async with Site(answers(FOUND)) as site:
        search = web_search.with_provider(TavilySearch(key=KEY, url=site.url))
        assert json.loads(await call(search, query=" frogs ", limit=2)) == HITS
        assert site.requests[0].headers["Authorization"] == f"Bearer {KEY}"
        assert site.requests[0].rel_url.query_string == ""
        assert json.loads(site.bodies[0]) == {"query": "frogs", "max_results": 2}


async def test_searxng_needs_no_key() -> None:
    async with Site(answers(FOUND)) as site:
        search = web_search.with_provider(SearxngSearch(f"{site.url}/base/"))
        assert json.loads(await call(search, query="frogs & ears", limit=2)) == HITS
        assert site.requests[0].path == "/base/search"
        assert dict(site.requests[0].query) == {"q": "frogs & ears", "format": "json"}


async def test_the_environment_names_the_provider(monkeypatch: pytest.MonkeyPatch) -> None:
    async with Site(answers(FOUND)) as site:
        monkeypatch.setenv("SEARXNG_URL", site.url)
        assert len(json.loads(await call(web_search, query="frogs"))) == 3
    monkeypatch.setenv("SEARXNG_URL", "file:///etc")
    with pytest.raises(ConfigurationError, match="SEARXNG_URL must begin with http"):
        await call(web_search, query="frogs")


async def test_the_key_is_read_from_the_environment_when_it_is_needed(monkeypatch: pytest.MonkeyPatch) -> None:
    async with Site(answers(FOUND)) as site:
        search = web_search.with_provider(TavilySearch(url=site.url))
        with pytest.raises(ConfigurationError, match="set TAVILY_API_KEY"):
            await call(search, query="frogs")
        monkeypatch.setenv("TAVILY_API_KEY", KEY)
        await call(search, query="frogs")
        assert site.requests[0].headers["Authorization"] == f"Bearer {KEY}"


async def test_without_a_provider_the_program_is_told_what_to_set() -> None:
    with pytest.raises(ConfigurationError, match=r"Set TAVILY_API_KEY or SEARXNG_URL, or use .*with_provider"):
        await call(web_search, query="frogs")


async def test_any_object_with_a_search_is_a_provider() -> None:
    class Library:
        async def search(self, query: str, limit: int) -> Sequence[SearchHit]:
            return [SearchHit(query, "https://x/", "y" * 5_000)] * 30

    provider: SearchProvider = Library()
    hits = json.loads(await call(web_search.with_provider(provider), query="frogs"))
    assert [hit["title"] for hit in hits] == ["frogs"] * 5
    assert {len(hit["snippet"]) for hit in hits} == {1_000}


@pytest.mark.parametrize(
    "arguments", [{"query": " "}, {"query": "x" * 1_001}, {"query": "x", "limit": 0}, {"query": "x", "limit": 21}, {}]
)
async def test_a_query_that_is_not_valid_asks_nobody(arguments: dict[str, object]) -> None:
    async with Site(answers(FOUND)) as site:
        await refuse(web_search.with_provider(SearxngSearch(site.url)), **arguments)
        assert site.requests == []


async def test_titles_are_shortened_and_addresses_that_no_request_takes_left_out() -> None:
    pages = [
        {"title": "T" * 5_000, "url": "http://a/"},
        {"title": "b", "url": "http://b/" + "x" * 5_000},
        {"title": "c", "url": "http://c/"},
    ]
    async with Site(answers(json.dumps({"results": pages}))) as site:
        hits = json.loads(await call(web_search.with_provider(SearxngSearch(site.url)), query="frogs"))
    assert [(len(hit["title"]), hit["url"]) for hit in hits] == [(300, "http://a/"), (1, "http://c/")]


@pytest.mark.parametrize("provider", ["tavily", None, object(), TavilySearch])
def test_what_cannot_search_is_no_provider(provider: object) -> None:
    with pytest.raises(ConfigurationError, match="is no search provider: it has no method `search`"):
        web_search.with_provider(provider)  # type: ignore[arg-type]


async def test_a_service_that_is_asked_too_often_says_what_to_do() -> None:
    async with Site(answers(status=429)) as site:
        reason = await refuse(web_search.with_provider(SearxngSearch(site.url)), query="frogs")
    assert reason == "SearXNG answered with status 429: it was asked too often, so search again later."


@pytest.mark.parametrize("status", [400, 401, 403, 404, 429, 500])
async def test_an_error_of_the_service_does_not_show_the_key(status: int) -> None:
    async def quote(request: web.Request) -> web.StreamResponse:
        return web.Response(status=status, text=f"bad {request.headers['Authorization']}")

    async with Site(quote) as site:
        search = web_search.with_provider(TavilySearch(key=KEY, url=f"{site.url}/?api_key={KEY}"))
        with pytest.raises(ToolError, match=f"Tavily answered with status {status}") as caught:
            await call(search, query="frogs")
    assert KEY not in "".join(traceback.format_exception(caught.value))


@pytest.mark.parametrize("text", [f"not JSON {KEY}", "[]", "{}", f'{{"results": [{{"title": "{KEY}"}}]}}', ""])
async def test_an_answer_that_is_not_valid_is_an_error_without_it(text: str) -> None:
    async with Site(answers(text)) as site:
        with pytest.raises(ToolError, match="Tavily answered with something else than results") as caught:
            await call(web_search.with_provider(TavilySearch(key=KEY, url=site.url)), query="frogs")
    assert KEY not in "".join(traceback.format_exception(caught.value))


async def test_the_key_is_not_sent_on_by_a_redirect() -> None:
    async with Site(answers(FOUND)) as other, Site(redirects(other.url)) as site:
        search = web_search.with_provider(TavilySearch(key=KEY, url=site.url))
        assert "Tavily did not answer" in await refuse(search, query="frogs")
        assert other.requests == []


async def test_a_service_that_is_not_there_is_an_error_without_the_key() -> None:
    async with Site(answers()) as site:
        url = f"{site.url}/?api_key={KEY}"
    with pytest.raises(ToolError, match="Tavily did not answer") as caught:
        await call(web_search.with_provider(TavilySearch(key=KEY, url=url)), query="frogs")
    assert KEY not in "".join(traceback.format_exception(caught.value))


async def test_a_service_that_stays_silent_is_given_up_in_time() -> None:
    clock = FakeClock()

    def give_up() -> list[bytes]:
        clock.advance(20)
        return []

    async with RawServer(give_up) as server:
        search = web_search.with_provider(SearxngSearch(server.url, clock=clock))
        assert "did not answer within 20 seconds" in await refuse(search, query="frogs")


@pytest.mark.parametrize("key", ["a\r\nX: y", "schlüssel"])
async def test_a_key_that_no_header_takes_is_an_error_without_it(key: str) -> None:
    with pytest.raises(ConfigurationError, match="check TAVILY_API_KEY") as caught:
        await call(web_search.with_provider(TavilySearch(key=key)), query="frogs")
    assert key not in str(caught.value)


def test_no_representation_shows_the_key() -> None:
    assert KEY not in repr(TavilySearch(key=KEY)) + repr(web_search.with_provider(TavilySearch(key=KEY)))
