"""Requests to addresses that a model names: checked, bounded, and with errors for the model."""

from __future__ import annotations

import socket
from collections.abc import Mapping
from typing import TYPE_CHECKING, Final
from urllib.parse import urljoin, urlsplit

from tactician.addresses import is_public
from tactician.amounts import need_amount
from tactician.clock import Clock
from tactician.errors import ToolError
from tactician.flow.timeout import StepTimeoutError, run_with_timeout
from tactician.frozen import frozen
from tactician.grammar import format_count
from tactician.tools.builtin.page_encoding import decode_text

if TYPE_CHECKING:
    from aiohttp import ClientResponse, ClientSession

HTML: Final = ("text/html", "application/xhtml+xml", "")
"""Media types of pages; a server that names none means a page."""
_MAX_URL: Final = 4_000
_SHORTEST: Final = 0.001
_REDIRECTS: Final = (301, 302, 303, 307, 308)
_CHUNK: Final = 2**16
_USER_AGENT: Final = "Mozilla/5.0 (compatible; tactician)"


@frozen
class WebLimits:
    """Limits of a request.

    Attributes:
        allow_private: true to reach addresses of this machine and of private networks.
        timeout: seconds that the request may take, with all its redirects.
        max_bytes: bytes of an answer, after decompression; the rest is not read.
        max_redirects: number of redirects that are followed.
    """

    allow_private: bool = False
    timeout: float = 30.0
    max_bytes: int = 2_000_000
    max_redirects: int = 5

    def __post_init__(self) -> None:
        need_amount("WebLimits.timeout", self.timeout, least=_SHORTEST)
        need_amount("WebLimits.max_bytes", self.max_bytes, least=1, whole=True)
        need_amount("WebLimits.max_redirects", self.max_redirects, whole=True)


@frozen
class WebRequest:
    """Request to an address. Its headers go to the origin that it names, and to no other origin."""

    url: str
    method: str = "GET"
    headers: Mapping[str, str] | None = None
    body: bytes | None = None


@frozen
class WebAnswer:
    """Answer of a web server.

    Attributes:
        url: the address that answered, after redirects.
        status: the HTTP status.
        headers: the headers, with names in lower case.
        body: the content, as far as it was read.
        is_cut: true when there is more.
        encoding: the encoding of text that the server names; empty when it names none.
    """

    url: str
    status: int
    headers: Mapping[str, str]
    body: bytes
    is_cut: bool
    encoding: str

    @property
    def media_type(self) -> str:
        """The type of the content, such as `text/html`; empty when the server names none."""
        return self.headers.get("content-type", "").partition(";")[0].strip().lower()

    @property
    def text(self) -> str:
        """The content as text."""
        return decode_text(self.body, self.encoding, is_page=self.media_type in HTML)


async def send_request(request: WebRequest, limits: WebLimits, clock: Clock) -> WebAnswer:
    """Send a request, follow its redirects, and return the answer.

    Each connection goes to an address that was checked, so neither a redirect nor a name whose address changes between
    check and connection leads to a private address.

    Raises:
        ToolError: when the address is not allowed, or the server does not answer in time.
    """
    try:
        return await run_with_timeout(_exchange(request, limits), limits.timeout, clock, "the request")
    except StepTimeoutError as error:
        raise ToolError(
            f"{format_place(request.url)} did not answer within {format_count(limits.timeout, 'second')}."
        ) from error


def format_place(url: str) -> str:
    """Return an address without its query, which may have a key in it, for errors."""
    return url.partition("?")[0].partition("#")[0][:200]


async def _exchange(request: WebRequest, limits: WebLimits) -> WebAnswer:
    from aiohttp import ClientError, ClientSession, DummyCookieJar, TCPConnector

    # Try the addresses in turn, so that the refusal of the first is not taken for a failed attempt.
    guard = None if limits.allow_private else _open_public_socket
    connector = TCPConnector(socket_factory=guard, happy_eyeballs_delay=None, use_dns_cache=False, force_close=True)
    async with ClientSession(connector=connector, cookie_jar=DummyCookieJar(), trust_env=False) as session:
        try:
            return await _follow(session, request, limits)
        except (ClientError, OSError, ValueError) as error:
            raise ToolError(f"{format_place(request.url)} cannot be reached: {_describe(error)}.") from None


async def _follow(session: ClientSession, request: WebRequest, limits: WebLimits) -> WebAnswer:
    check_url(request.url)
    for _ in range(limits.max_redirects + 1):
        headers = {"User-Agent": _USER_AGENT, **(request.headers or {})}
        async with session.request(
            request.method, request.url, headers=headers, data=request.body, allow_redirects=False
        ) as response:
            location = response.headers.get("Location")
            if response.status not in _REDIRECTS or location is None:
                return await _read(response, limits)
            request = _redirect(request, location, response.status)
    raise ToolError(f"{format_place(request.url)}: more than {limits.max_redirects} redirects.")


def check_url(url: str) -> None:
    """Check the form of an address.

    Raises:
        ToolError: when it is not an HTTP address, or has a user or a password in it.
    """
    try:
        parts = urlsplit(url)
        host, _ = parts.hostname, parts.port
    except ValueError as error:
        raise ToolError(f"The address is not valid: {error}.") from error
    if parts.scheme not in ("http", "https") or not host or len(url) > _MAX_URL:
        raise ToolError("The address must begin with http:// or https://, and be at most 4,000 characters long.")
    if not url.strip().isprintable():
        raise ToolError("The address has a line break or another control character in it.")
    if "@" in parts.netloc:
        raise ToolError("The address must not have a user or a password in it.")


def _redirect(request: WebRequest, location: str, status: int) -> WebRequest:
    """Return the request to where a redirect leads. As browsers do, it becomes a GET but for 307 and 308."""
    url = _find_target(request.url, location)
    has_moved = _get_origin(url) != _get_origin(request.url)
    is_repeated = status in (307, 308) or request.method in ("GET", "HEAD")
    if is_repeated and has_moved and request.body is not None:
        raise ToolError(f"{format_place(request.url)} sends the request on to another server: send it there yourself.")
    headers = None if has_moved or not is_repeated else request.headers
    return WebRequest(url, request.method if is_repeated else "GET", headers, request.body if is_repeated else None)


def _find_target(url: str, location: str) -> str:
    try:
        target = urljoin(url, location)
        check_url(target)
    except ToolError as error:
        raise ToolError(f"{format_place(url)} redirects to something that cannot be reached: {error}") from None
    except ValueError as error:
        raise ToolError(f"{format_place(url)} redirects to something that is not an address: {error}.") from None
    return target


def _get_origin(url: str) -> tuple[str, str | None, int | None]:
    parts = urlsplit(url)
    return parts.scheme, parts.hostname, parts.port


async def _read(response: ClientResponse, limits: WebLimits) -> WebAnswer:
    body = bytearray()
    async for chunk in response.content.iter_chunked(_CHUNK):
        body += chunk
        if len(body) > limits.max_bytes:
            break
    headers = {name.lower(): ", ".join(response.headers.getall(name)) for name in response.headers}
    content, is_cut = bytes(body[: limits.max_bytes]), len(body) > limits.max_bytes
    return WebAnswer(str(response.url), response.status, headers, content, is_cut, response.charset or "")


def _open_public_socket(
    address: tuple[int, int, int, str, tuple[str, int] | tuple[str, int, int, int] | tuple[int, bytes]],
) -> socket.socket:
    """Return a socket for an address that a connection is about to be made to.

    Raises:
        ToolError: when the address is not public.
    """
    family, kind, protocol, _, place = address
    if not is_public(str(place[0])):
        raise ToolError("The address leads to this machine or to a private network, which this tool does not reach.")
    return socket.socket(family, kind, protocol)


def _describe(error: Exception) -> str:
    """Return the reason of a failure, without the address, which may have a key in it."""
    import aiohttp

    reasons = {
        aiohttp.InvalidURL: "the address is not valid",
        aiohttp.ServerDisconnectedError: "the server ended the connection without an answer",
        aiohttp.ClientPayloadError: "the answer breaks off, or is not encoded as it says",
        aiohttp.ClientResponseError: "the answer is not valid HTTP",
        aiohttp.ClientSSLError: "the server offers no encryption that this machine trusts",
    }
    for kind, reason in reasons.items():
        if isinstance(error, kind):
            return reason
    cause = getattr(error, "os_error", error)
    if isinstance(cause, OSError):
        return cause.strerror or type(cause).__name__
    return "the address is not valid" if isinstance(error, ValueError) else type(error).__name__
