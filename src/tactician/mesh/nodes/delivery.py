"""Delivery of replies: to the caller, a queue, a topic, a webhook or the store."""

from __future__ import annotations

import base64
import hashlib
import hmac
from typing import Final
from urllib.parse import urlsplit

import aiohttp

from tactician.addresses import find_public_address
from tactician.loggers import get_logger
from tactician.mesh.connection import MeshConnection
from tactician.mesh.messages import MeshReply, MeshRequest, TopicEvent
from tactician.mesh.transports import hide_credentials

_logger = get_logger(__name__)
_TIMEOUT: Final = 15.0
_ATTEMPTS: Final = 3
_PREFIX: Final = "whsec_"


class ReplyDelivery:
    """Deliverer of replies in the way that each request asks for.

    Args:
        mesh: the connection.
        allows_private: true when webhooks may be at private addresses, as in tests.
    """

    def __init__(self, mesh: MeshConnection, *, allows_private: bool = False) -> None:
        self._mesh = mesh
        self._allows_private = allows_private

    async def deliver(self, request: MeshRequest, reply: MeshReply, trace_parent: str | None = None) -> None:
        """Deliver a reply.

        Raises:
            TransportError: when the broker does not take it.
        """
        way = request.delivery
        match way.method:
            case "direct" if request.reply_to is not None:
                await self._mesh.send(request.reply_to, reply, trace_parent)
            case "queue":
                await self._mesh.send(way.address, reply, trace_parent)
            case "topic":
                value = reply.model_dump(mode="json", by_alias=True, exclude_none=True)
                event = TopicEvent(topic=way.address, sender=reply.node, value=value)
                await self._mesh.transport.publish(way.address, self._mesh.encode(event, trace_parent))
            case "webhook":
                await self._post(way.address, way.secret, reply)
            case _:
                return  # a ticket asks for the reply, or nobody does

    async def _post(self, url: str, secret_name: str | None, reply: MeshReply) -> None:
        """Post a reply, signed by the specification of Standard Webhooks (https://www.standardwebhooks.com)."""
        body = reply.model_dump_json(by_alias=True, exclude_none=True).encode()
        headers = {"content-type": "application/json"}
        if secret_name is not None:
            if (secret := self._mesh.webhook_secrets.get(secret_name)) is None:
                _logger.warning("%s: no webhook secret is named %r: Mesh(webhook_secrets=...)", reply.node, secret_name)
                return
            headers |= sign_webhook(secret, f"msg_{reply.request_id}", int(self._mesh.clock.time()), body)
        for attempt in range(1, _ATTEMPTS + 1):
            if await self._try_post(url, headers, body):
                return
            await self._mesh.clock.sleep(attempt)
        _logger.warning("%s: the webhook %s took no reply", reply.node, hide_credentials(url))

    async def _try_post(self, url: str, headers: dict[str, str], body: bytes) -> bool:
        try:
            parts = urlsplit(url)
            port = parts.port or (443 if parts.scheme == "https" else 80)
            is_public = self._allows_private or await find_public_address(parts.hostname or "", port) is not None
            if parts.scheme not in ("http", "https") or not is_public:
                _logger.warning("the webhook %s is not at a public address", hide_credentials(url))
                return True
            limits = aiohttp.ClientTimeout(total=_TIMEOUT)
            async with (
                aiohttp.ClientSession(timeout=limits) as session,
                session.post(url, data=body, headers=headers, allow_redirects=False) as response,
            ):
                return response.status < 300
        except (aiohttp.ClientError, OSError, ValueError, TimeoutError):
            return False


def sign_webhook(secret: str, message_id: str, timestamp: int, body: bytes) -> dict[str, str]:
    """Return the headers with the signature of a webhook.

    Args:
        secret: the secret; after `whsec_`, in Base64.
        message_id: id of the message, by which receivers refuse repetitions.
        timestamp: seconds since the epoch.
        body: what is posted.
    """
    key = base64.b64decode(secret.removeprefix(_PREFIX)) if secret.startswith(_PREFIX) else secret.encode()
    signature = hmac.new(key, f"{message_id}.{timestamp}.".encode() + body, hashlib.sha256).digest()
    return {
        "webhook-id": message_id,
        "webhook-timestamp": str(timestamp),
        "webhook-signature": f"v1,{base64.b64encode(signature).decode()}",
    }
