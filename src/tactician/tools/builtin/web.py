"""Tools for the web: readable text of a page, and HTTP requests."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Final, Literal, Self

from typing_extensions import override

from tactician.amounts import need_amount
from tactician.errors import ToolError
from tactician.frozen import frozen
from tactician.grammar import format_count
from tactician.runs import RunContext
from tactician.runs.context.threads import in_thread
from tactician.text import replace_surrogates
from tactician.tools.builtin.configurable import ConfigurableTool
from tactician.tools.builtin.page_text import extract_text, extract_title
from tactician.tools.builtin.web_client import (
    HTML,
    WebAnswer,
    WebLimits,
    WebRequest,
    check_url,
    format_place,
    send_request,
)
from tactician.tools.function import tool
from tactician.tools.tool import Tool

MAX_TEXT: Final = 40_000
"""Characters of text for the model by default."""
_TEXT: Final = re.compile(r"text/.*|application/(?:.*[+-])?(?:json|xml|yaml|javascript|x-ndjson)|image/svg\+xml")
_OWN_HEADERS: Final = {"host", "content-length", "transfer-encoding", "connection", "upgrade", "te", "trailer"}
_HEADER: Final = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]{1,100}")
_MAX_BODY: Final = 1_000_000
_MAX_HEADERS: Final = 50


@dataclass(frozen=True)
class WebTool(ConfigurableTool):
    """Tool that reaches addresses which a model names.

    Attributes:
        limits: limits of each request.
        max_chars: characters of an answer that the model reads.
    """

    limits: WebLimits = field(default=WebLimits(), repr=False)
    max_chars: int = MAX_TEXT

    def __post_init__(self) -> None:
        need_amount(f"{type(self).__name__}.max_chars", self.max_chars, least=1, whole=True)

    def allow_private(self) -> Self:
        """Return the tool with access to this machine and to private networks."""
        return replace(self, limits=replace(self.limits, allow_private=True))

    def with_limits(
        self,
        *,
        timeout: float | None = None,
        max_bytes: int | None = None,
        max_redirects: int | None = None,
        max_chars: int | None = None,
    ) -> Self:
        """Return the tool with other limits.

        Args:
            timeout: seconds that a request may take, with all its redirects.
            max_bytes: bytes of an answer, after decompression; the rest is not read.
            max_redirects: number of redirects that are followed.
            max_chars: characters of an answer that the model reads.
        """
        old = self.limits
        limits = WebLimits(
            old.allow_private,
            old.timeout if timeout is None else timeout,
            old.max_bytes if max_bytes is None else max_bytes,
            old.max_redirects if max_redirects is None else max_redirects,
        )
        return replace(self, limits=limits, max_chars=self.max_chars if max_chars is None else max_chars)

    def _cut(self, text: str, *, is_cut: bool) -> str:
        """Return text of at most `max_chars` characters, with a note when something is missing."""
        if len(text) <= self.max_chars and not is_cut:
            return text
        return f"{text[: self.max_chars]}\n[cut: there is more]"


@dataclass(frozen=True)
class PageFetcher(WebTool):
    """Tool that returns the readable text of a page: `fetch_page`.

    Attributes:
        extract: function that returns the readable text of an HTML page.
    """

    extract: Callable[[str], str | None] | None = None

    def with_extractor(self, extract: Callable[[str], str | None]) -> Self:
        """Return the tool with another way to find the readable text, such as `trafilatura.extract`.

        Args:
            extract: function of the HTML. It runs in a thread; when it returns nothing, the built-in way is used.
        """
        return replace(self, extract=extract)

    @tool(name="fetch_page")
    async def fetch(self, context: RunContext, url: str) -> str:
        """Read a web page, as text with links.

        Args:
            context: the context of the run
            url: the address, with http:// or https://
        """
        answer = await send_request(WebRequest(url), self.limits, context.clock)
        if answer.status >= 400:
            raise ToolError(f"{format_place(url)} answered with status {answer.status}.")
        if answer.media_type in HTML:
            return self._cut(await in_thread(self._read_page, answer), is_cut=answer.is_cut)
        if _TEXT.fullmatch(answer.media_type) is None:
            raise ToolError(f"{format_place(url)} is {answer.media_type}, which is not text.")
        return self._cut(answer.text, is_cut=answer.is_cut)

    @property
    @override
    def _function(self) -> Tool:
        return self.fetch

    def _read_page(self, answer: WebAnswer) -> str:
        html = answer.text
        extracted = None if self.extract is None else self.extract(html)
        text = extracted or extract_text(html, answer.url)
        title = extract_title(html)
        return f"# {title}\n\n{text}" if title and title not in text[: len(title) + 10] else text


@frozen
class HttpAnswer:
    """Answer to an HTTP request.

    Attributes:
        status: the HTTP status.
        url: the address that answered, after redirects.
        headers: the headers.
        body: the content as text.
    """

    status: int
    url: str
    headers: dict[str, str] = field(default_factory=dict)
    body: str = ""


@dataclass(frozen=True)
class HttpRequester(WebTool):
    """Tool that sends HTTP requests: `http_request`."""

    @tool(name="http_request")
    async def send(
        self,
        context: RunContext,
        url: str,
        method: Literal["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"] = "GET",
        headers: dict[str, str] | None = None,
        body: str | None = None,
    ) -> HttpAnswer:
        """Send an HTTP request, and return the status, the headers and the content of the answer.

        Args:
            context: the context of the run
            url: the address, with http:// or https://
            method: the HTTP method
            headers: further headers, such as {"Content-Type": "application/json"}
            body: the content to send
        """
        check_url(url)
        content = None if body is None else replace_surrogates(body).encode()
        if content is not None and len(content) > _MAX_BODY:
            raise ToolError(f"The body is longer than {_MAX_BODY:,} bytes.")
        request = WebRequest(url, method, _check_headers(headers or {}), content)
        answer = await send_request(request, self.limits, context.clock)
        if _TEXT.fullmatch(answer.media_type) is None and b"\0" in answer.body:
            text = f"[{format_count(len(answer.body), 'byte')} of {answer.media_type or 'unknown type'}]"
        else:
            text = self._cut(answer.text, is_cut=answer.is_cut)
        return HttpAnswer(answer.status, answer.url, dict(answer.headers), text)

    @property
    @override
    def _function(self) -> Tool:
        return self.send


def _check_headers(headers: dict[str, str]) -> dict[str, str]:
    """Return the headers.

    Raises:
        ToolError: when a name or a value is not valid, or the client sets the header itself.
    """
    if len(headers) > _MAX_HEADERS:
        raise ToolError(f"There are more than {_MAX_HEADERS} headers.")
    for name, value in headers.items():
        if _HEADER.fullmatch(name) is None or not value.isprintable() or not value.isascii() or len(value) > 4_000:
            raise ToolError(f"The header {name[:100]!r} is not valid: use printable ASCII in one line.")
        if name.lower() in _OWN_HEADERS:
            raise ToolError(f"The header {name!r} cannot be set.")
    return headers


fetch_page: Final = PageFetcher()
http_request: Final = HttpRequester()
