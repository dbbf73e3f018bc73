"""Inbox of a node: each message from its queue is taken, and acknowledged when nothing can lose it any more."""

from __future__ import annotations

from tactician.errors import StoreError
from tactician.loggers import get_logger
from tactician.mesh.connection import MeshConnection
from tactician.mesh.messages.bounds import MessageError
from tactician.mesh.messages.replies import MeshReply, ProgressReport, StatusReport
from tactician.mesh.nodes.held import HeldMessages
from tactician.mesh.nodes.intake import Intake
from tactician.mesh.nodes.replies import ReplyTaker
from tactician.mesh.nodes.work import NodeWork
from tactician.mesh.transports.transport import LeasedMessage

_LATER = 1.0
_logger = get_logger(__name__)


class NodeInbox:
    """Taker of the messages in the queue of a node.

    Args:
        node: name of the node.
        mesh: the connection.
        intake: the intake of requests.
        replies: the taker of replies to runs of the platform.
        work: the work of the instance.
        held: the messages that are held until their replies are sent.
        acknowledges_at_once: true to acknowledge a request once its run is saved.
    """

    def __init__(
        self,
        node: str,
        mesh: MeshConnection,
        intake: Intake,
        replies: ReplyTaker,
        work: NodeWork,
        held: HeldMessages,
        *,
        acknowledges_at_once: bool,
    ) -> None:
        self._node = node
        self._mesh = mesh
        self._intake = intake
        self._replies = replies
        self._work = work
        self._held = held
        self._acknowledges_at_once = acknowledges_at_once

    async def take(self, leased: LeasedMessage) -> None:
        """Take a message.

        Raises:
            TransportError: when the broker does not answer.
        """
        try:
            envelope = self._mesh.decode(leased.body)
            match envelope.message:
                case (MeshReply() as reply) | StatusReport(reply=MeshReply() as reply):
                    await self._take_reply(reply, leased)
                    return
                case ProgressReport() as report:
                    self._replies.note_progress(report)
            key = await self._intake.take(envelope)
        except MessageError as error:
            await self._intake.refuse(error)
            key = None
        except StoreError as error:
            _logger.warning("%s: a request is taken later: %s", self._node, error)
            await self._mesh.transport.release(leased, _LATER)
            return
        if key is None or self._acknowledges_at_once or key in self._held:
            await self._mesh.transport.acknowledge(leased)
            return
        self._held.hold(key, leased)
        await self._work.report_if_ended(key)

    async def _take_reply(self, reply: MeshReply, leased: LeasedMessage) -> None:
        delay = await self._replies.take(reply, leased.deliveries)
        await (self._mesh.transport.release(leased, delay) if delay else self._mesh.transport.acknowledge(leased))
