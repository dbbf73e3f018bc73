"""Guard in front of all endpoints: who calls, from where, and how often."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Mapping
from typing import Final
from urllib.parse import urlsplit

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from tactician.amounts import need_amount
from tactician.frozen import frozen
from tactician.listening import is_loopback
from tactician.llm.image_checks import MOST_IMAGE_BYTES
from tactician.people.person import LOCAL, Person
from tactician.people.tokens import Tokens
from tactician.resilience.rate_limiter import RateLimiter
from tactician.runs.life.holding import DEFAULT_LEASE
from tactician.serve.dashboard.pages import DASHBOARD_PATH
from tactician.serve.problems import ApiError, describe_problem

_LOCAL_NAMES: Final = frozenset({"localhost", "127.0.0.1", "::1"})
_OPEN_PATHS: Final = ("/livez", "/readyz")
_MOST_CALLERS: Final = 10_000
_INSTANT: Final = 1e-6
"""Seconds by which sums of floats may be wrong."""
_GUARDED: Final = ("http", "websocket")
_POLICY_VIOLATION: Final = 1008
"""Code with which a WebSocket is refused (RFC 6455)."""
_HEADERS: Final = (
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"x-frame-options", b"DENY"),
)


@frozen
class RequestLimits:
    """Limits of requests.

    Attributes:
        body: bytes of a request's body.
        upload: bytes of a picture that is uploaded.
        rate: requests a second of each caller, on average.
        burst: requests that a caller may make at once.
        seconds: time from the headers of a request to the end of its answer. Streams may take any time, and so may MCP
            and A2A, once the body has come.
        streams: streams of events that may be open at a time.
        parallel: runs that this server continues at a time.
        lease: seconds after which others continue the runs of a server that has died.
        events_per_run: events of a run that are kept in memory for readers that come late.
        runs_with_events: runs of which events are kept in memory.

    Raises:
        ConfigurationError: when a number is out of range.
    """

    body: int = 1_000_000
    upload: int = MOST_IMAGE_BYTES
    rate: float = 100.0
    burst: int = 500
    seconds: float = 60.0
    streams: int = 1000
    parallel: int = 100
    lease: float = DEFAULT_LEASE
    events_per_run: int = 10_000
    runs_with_events: int = 1000

    def __post_init__(self) -> None:
        for name in ("body", "upload", "burst", "streams", "parallel", "events_per_run", "runs_with_events"):
            need_amount(f"RequestLimits.{name}", getattr(self, name), least=1, whole=True)
        for name in ("rate", "seconds", "lease"):
            need_amount(f"RequestLimits.{name}", getattr(self, name), least=0.001)


class Callers:
    """People and programs that call a server, over whatever protocol.

    Args:
        people: bearer tokens, and who has each; without tokens, only programs on this machine may call.
        limits: limits of requests.
        clock: seconds, for the rate.

    Raises:
        ConfigurationError: when a token is too short.
    """

    def __init__(self, people: Mapping[str, Person] | None, limits: RequestLimits, clock: Callable[[], float]) -> None:
        self._tokens = None if people is None else Tokens(people)
        self._buckets = _Buckets(limits, clock)

    @property
    def need_tokens(self) -> bool:
        """True when nobody may call without a token."""
        return self._tokens is not None

    def admit(self, headers: Headers, address: str) -> Person:
        """Return who calls, and count the request.

        Args:
            headers: headers of the request, in which the token is.
            address: address of the other side.

        Raises:
            ApiError: when the caller may not call, or calls too often.
        """
        person = self._find_person(headers, address)
        self._buckets.take(f"{person.name} {address}")
        return person

    def _find_person(self, headers: Headers, address: str) -> Person:
        if self._tokens is None:
            if not is_loopback(address):
                raise ApiError(403, "Without tokens, only programs on this machine may call.")
            return LOCAL
        scheme, _, token = headers.get("authorization", "").partition(" ")
        person = self._tokens.find(token.strip()) if scheme.lower() == "bearer" else None
        if person is None:
            problem = "Nobody has this token. " if scheme.lower() == "bearer" else ""
            message = f"{problem}Send a valid token in the header `Authorization`, as `Bearer TOKEN`."
            raise ApiError(401, message, {"www-authenticate": "Bearer"})
        return person


class Guard:
    """Middleware that refuses requests before any endpoint sees them, and adds headers of safety to responses.

    Args:
        app: what is guarded.
        callers: who may call.
        hosts: names by which the server may be called; without tokens, the names of this machine, else any.
    """

    def __init__(self, app: ASGIApp, callers: Callers, hosts: frozenset[str] | None) -> None:
        self._app = app
        self._callers = callers
        self._hosts = hosts if hosts is not None or callers.need_tokens else _LOCAL_NAMES

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a request or a WebSocket, or refuse it."""
        if scope["type"] not in _GUARDED:
            await self._app(scope, receive, send)
            return
        safe = _add_headers(send)
        try:
            self._check(scope)
        except ApiError as error:
            await _refuse(error, scope, receive, safe)
            return
        await self._app(scope, receive, safe)

    def _check(self, scope: Scope) -> None:
        headers = Headers(scope=scope)
        _check_host(headers, self._hosts)
        _check_origin(headers)
        if _is_open(scope):
            return
        scope["person"] = self._callers.admit(headers, _find_caller(scope))


async def _refuse(error: ApiError, scope: Scope, receive: Receive, send: Send) -> None:
    if scope["type"] == "http":
        await describe_problem(error)(scope, receive, send)
    else:
        await send({"type": "websocket.close", "code": _POLICY_VIOLATION, "reason": str(error)})


class _Buckets:
    """Rate limiters of the callers that called last."""

    def __init__(self, limits: RequestLimits, clock: Callable[[], float]) -> None:
        self._limits = limits
        self._clock = clock
        self._limiters: OrderedDict[str, RateLimiter] = OrderedDict()

    def take(self, caller: str) -> None:
        """Count a request.

        Raises:
            ApiError: when the caller has made too many.
        """
        limits, now = self._limits, self._clock()
        limiter = self._limiters.pop(caller, None) or RateLimiter(limits.rate, limits.burst / limits.rate)
        self._limiters[caller] = limiter
        if len(self._limiters) > _MOST_CALLERS:
            self._limiters.popitem(last=False)
        wait = limiter.available_at(now) - now
        if wait > _INSTANT:
            raise ApiError(429, "These are too many requests.", {"retry-after": f"{max(1, round(wait))}"})
        limiter.consume(now)


def _is_open(scope: Scope) -> bool:
    """Return whether anybody may have what is asked for: the state of the server, and the files of the dashboard."""
    path = scope["path"].removeprefix(scope.get("root_path", ""))
    return path in _OPEN_PATHS or path == DASHBOARD_PATH or path.startswith(f"{DASHBOARD_PATH}/")


def _check_host(headers: Headers, hosts: frozenset[str] | None) -> None:
    """Refuse other names of this server: a page elsewhere may give its name the address of this machine."""
    host = _strip_port(headers.get("host", ""))
    if hosts is not None and host not in hosts:
        raise ApiError(421, f"This server is not {host[:100]!r}.")


def _check_origin(headers: Headers) -> None:
    """Refuse requests from pages of other servers."""
    origin = headers.get("origin")
    if origin is not None and _find_server(origin) != headers.get("host", "").lower():
        raise ApiError(403, "Pages of other servers may not call this server.")


def _find_server(origin: str) -> str | None:
    """Return the server of an origin; `None` when it is no address."""
    try:
        return urlsplit(origin).netloc.lower()
    except ValueError:
        return None


def _strip_port(host: str) -> str:
    if host.startswith("["):
        return host[1:].partition("]")[0].lower()
    return host.rpartition(":")[0].lower() if ":" in host else host.lower()


def _find_caller(scope: Scope) -> str:
    client = scope.get("client")
    return client[0] if client else ""


def _add_headers(send: Send) -> Send:
    async def safe(message: Message) -> None:
        if message["type"] == "http.response.start":
            message = {**message, "headers": [*message.get("headers", ()), *_HEADERS]}
        await send(message)

    return safe
