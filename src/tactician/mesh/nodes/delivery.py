"""Delivery of replies: to the caller, a queue, a topic, a webhook or the store."""

from __future__ import annotations

from tactician.errors import ConfigurationError
from tactician.loggers import get_logger
from tactician.mesh.connection import MeshConnection
from tactician.mesh.messages.directives import TopicEvent
from tactician.mesh.messages.message import MAX_NAMES
from tactician.mesh.messages.replies import MeshReply
from tactician.mesh.messages.requests import MeshRequest
from tactician.mesh.transports.addresses import hide_credentials
from tactician.notifications.webhooks import NotificationError, Webhook, WebhookSender

_logger = get_logger(__name__)


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
                event = TopicEvent(
                    topic=way.address, sender=reply.node, value=value, hops=(*request.hops, reply.node)[-MAX_NAMES:]
                )
                await self._mesh.transport.publish(way.address, self._mesh.encode(event, trace_parent))
            case "webhook":
                await self._post(way.address, way.secret, reply)
            case _:
                return  # a ticket asks for the reply, or nobody does

    async def _post(self, url: str, secret_name: str | None, reply: MeshReply) -> None:
        """Post a reply; who has asked for it can still ask for its status, if it does not arrive."""
        secret = None if secret_name is None else self._mesh.webhook_secrets.get(secret_name)
        if secret is None and secret_name is not None:
            _logger.warning("%s: no webhook secret is named %r: Mesh(webhook_secrets=...)", reply.node, secret_name)
            return
        body = reply.model_dump_json(by_alias=True, exclude_none=True).encode()
        message_id = f"msg_{reply.request_id}".replace(".", "-")
        try:
            async with WebhookSender(self._mesh.clock, allows_private=self._allows_private) as sender:
                await sender.send(Webhook(url, secret), message_id, body)
        except (NotificationError, ConfigurationError) as error:
            _logger.warning("%s: the webhook %s took no reply: %s", reply.node, hide_credentials(url), error)
