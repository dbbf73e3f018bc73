"""Webhooks: messages that are posted to an address which somebody else has named."""

from __future__ import annotations

import base64
import binascii
import hmac
import random
import secrets
import socket
from collections.abc import Awaitable, Callable, Mapping
from contextlib import AsyncExitStack
from dataclasses import field
from hashlib import sha256
from typing import TYPE_CHECKING, Final, Self
from urllib.parse import urlsplit

from tactician.addresses import find_public_address, is_public
from tactician.clock import SYSTEM_CLOCK, Clock, Timeout
from tactician.errors import ConfigurationError, TacticianError
from tactician.frozen import frozen
from tactician.resilience.backoff import draw_backoff

if TYPE_CHECKING:
    from aiohttp import ClientSession

_PREFIX: Final = "whsec_"
_FEWEST_BYTES: Final = 24
_MOST_BYTES: Final = 64
_LONGEST_URL: Final = 2_000
_AGAIN: Final = frozenset({408, 425, 429})
"""Statuses of requests that may succeed later, as those from 500 up may."""


def create_webhook_secret() -> str:
    """Return a new secret, with which both sides of a webhook sign and verify."""
    return _PREFIX + base64.b64encode(secrets.token_bytes(32)).decode()


def sign_webhook(secret: str, message_id: str, sent_at: int, body: bytes) -> dict[str, str]:
    """Return the headers that identify and sign a message.

    Args:
        secret: the secret: `whsec_` and base64 of 24 to 64 bytes.
        message_id: id of the message, the same whenever it is sent again.
        sent_at: time of this attempt, in seconds since the epoch.
        body: what is sent.

    Raises:
        ConfigurationError: when the secret does not have this form, or the id has a full stop in it.
    """
    if "." in message_id:
        raise ConfigurationError(f"The id of a webhook must have no full stop in it: {message_id[:100]!r}")
    signed = f"{message_id}.{sent_at}.".encode() + body
    digest = hmac.digest(_read_secret(secret), signed, sha256)
    signature = f"v1,{base64.b64encode(digest).decode()}"
    return {"webhook-id": message_id, "webhook-timestamp": str(sent_at), "webhook-signature": signature}


def _read_secret(secret: str) -> bytes:
    try:
        key = base64.b64decode(secret.removeprefix(_PREFIX), validate=True)
    except (binascii.Error, ValueError):
        key = b""
    if not _FEWEST_BYTES <= len(key) <= _MOST_BYTES:
        # The secret itself must be in no message.
        raise ConfigurationError(
            f"The secret of a webhook must be {_PREFIX!r} and base64 of {_FEWEST_BYTES} to {_MOST_BYTES} bytes: "
            "create_webhook_secret() makes one"
        )
    return key


class NotificationError(TacticianError):
    """Error for a notification that did not arrive, after all attempts."""


class UnsafeAddressError(ConfigurationError):
    """Error for an address that nothing is sent to: it is private, or no address of HTTP."""


@frozen
class Webhook:
    """Target of notifications.

    Attributes:
        url: its address.
        secret: secret that signs what is sent, by Standard Webhooks; no signature, when `None`.
        headers: further headers, such as a token that the target has asked for.
    """

    url: str
    secret: str | None = field(default=None, repr=False)
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)


async def check_webhook_address(url: str, *, allows_private: bool = False) -> None:
    """Check an address to which notifications are to be sent.

    Raises:
        UnsafeAddressError: when it is not HTTP, has a user or password, or any of its IP addresses is private.
    """
    try:
        parts = urlsplit(url)
        host, port = parts.hostname, parts.port or (443 if parts.scheme == "https" else 80)
    except ValueError:
        raise UnsafeAddressError("Notifications are not sent to this address: it is not valid.") from None
    is_http = parts.scheme in ("http", "https") and host is not None and len(url) <= _LONGEST_URL
    if not is_http or host is None or "@" in parts.netloc or not url.isprintable():
        raise UnsafeAddressError("Notifications are not sent to this address: it has to be HTTP, without a password.")
    if not allows_private and not await _is_public_host(host, port):
        raise UnsafeAddressError("Notifications are not sent to this address: it has to be public.")


class WebhookSender:
    """Sender of webhooks.

    An address is checked whenever a connection is made, so that a name that becomes private reaches nothing.
    Redirects are not followed. A message that fails for a passing reason is sent again with the same id, after pauses
    that grow with full jitter.

    Args:
        clock: the time.
        allows_private: true to send to private addresses.
        attempts: number of attempts at a message.
        base: maximum seconds of the first pause.
        longest: maximum seconds of any pause.
        timeout: seconds that an attempt may take.
        random: returns a number from 0 to 1, for the pauses.
    """

    def __init__(
        self,
        clock: Clock = SYSTEM_CLOCK,
        *,
        allows_private: bool = False,
        attempts: int = 3,
        base: float = 1.0,
        longest: float = 60.0,
        timeout: float = 10.0,
        random: Callable[[], float] = random.random,
    ) -> None:
        self._clock = clock
        self._allows_private = allows_private
        self._attempts = attempts
        self._base, self._longest = base, longest
        self._timeout = timeout
        self._random = random
        self._session: ClientSession | None = None
        self._closing = AsyncExitStack()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    async def send(self, webhook: Webhook, message_id: str, body: bytes) -> None:
        """Send a message of JSON.

        Args:
            webhook: the target.
            message_id: id by which the target recognizes a message that comes again.
            body: the message.

        Raises:
            NotificationError: when it was refused, or all attempts have failed.
            UnsafeAddressError: when the address is private, or not HTTP.
            ConfigurationError: when the secret is not valid.
        """
        await check_webhook_address(webhook.url, allows_private=self._allows_private)
        status: int | None = None
        for attempt in range(1, self._attempts + 1):
            status = await self._post(webhook, message_id, body)
            if status is not None and status < 300:
                return
            if status is not None and status < 500 and status not in _AGAIN:
                raise NotificationError(f"{_get_origin(webhook.url)} refuses a notification: status {status}.")
            if attempt < self._attempts:
                await self._clock.sleep(self._draw_pause(attempt))
        reason = "no answer" if status is None else f"status {status}"
        raise NotificationError(
            f"{_get_origin(webhook.url)} has not taken a notification in {self._attempts} attempts: {reason}."
        )

    async def aclose(self) -> None:
        """Close all connections."""
        self._session = None
        await self._closing.aclose()

    def _draw_pause(self, attempt: int) -> float:
        return draw_backoff(attempt, base=self._base, factor=2.0, longest=self._longest, random=self._random)

    async def _post(self, webhook: Webhook, message_id: str, body: bytes) -> int | None:
        """Return the status of the answer; `None` when none came in time."""
        from aiohttp import ClientError

        headers = {"content-type": "application/json", **webhook.headers}
        if webhook.secret is not None:
            headers |= sign_webhook(webhook.secret, message_id, int(self._clock.time()), body)
        try:
            with Timeout(self._timeout, self._clock):
                session = await self._open()
                async with session.post(webhook.url, data=body, headers=headers, allow_redirects=False) as response:
                    return response.status
        except (TimeoutError, ClientError, OSError):
            return None

    async def _open(self) -> ClientSession:
        if self._session is None:
            from aiohttp import ClientSession, ClientTimeout, TCPConnector

            guard = None if self._allows_private else _open_public_socket
            connector = TCPConnector(
                socket_factory=guard, happy_eyeballs_delay=None, use_dns_cache=False, force_close=True
            )
            session = ClientSession(connector=connector, timeout=ClientTimeout(total=None), trust_env=False)
            self._session = await self._closing.enter_async_context(session)
        return self._session


async def send_once(
    stamp: str, replace_last: Callable[[str], Awaitable[str | None]], send: Callable[[], Awaitable[None]]
) -> bool:
    """Send a state that was not sent yet, whichever program has sent the last, and return whether it was.

    Args:
        stamp: names the state.
        replace_last: stores the stamp as the last, and returns the last one before; both in a single step.
        send: sends the state.
    """
    if await replace_last(stamp) == stamp:
        return False
    await send()
    return True


async def _is_public_host(host: str, port: int) -> bool:
    try:
        return await find_public_address(host, port) is not None
    except OSError:
        return False


def _open_public_socket(
    address: tuple[int, int, int, str, tuple[str, int] | tuple[str, int, int, int] | tuple[int, bytes]],
) -> socket.socket:
    """Return a socket for an address that a connection is about to be made to.

    Raises:
        OSError: when the address is not public.
    """
    family, kind, protocol, _, place = address
    if not is_public(str(place[0])):
        raise OSError("the address is private")
    return socket.socket(family, kind, protocol)


def _get_origin(url: str) -> str:
    """Return the scheme and host of an address, whose path may be a secret."""
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.hostname}"
