"""Mailbox: the messages that a program has sent and others have not taken, and the frames about them."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from dataclasses import replace
from math import inf
from typing import Final

from tactician.clock import SYSTEM_CLOCK
from tactician.mesh.transports.memory import MemoryBroker
from tactician.mesh.transports.signals import Listeners
from tactician.mesh.transports.transport import PRIVATE, LeasedMessage
from tactician.mesh.transports.websocket.frames import SocketFrame

_KEPT_FOR: Final = 600.0
"""Seconds for which a message to a process is kept that may have ended."""
_MOST_LEASED: Final = 10_000


class SocketMailbox:
    """Messages of a program, which the others take from it. A message stays here until a receiver has acknowledged it.

    Args:
        tell: tells all programs that a queue has changed.

    Attributes:
        broker: the messages and the subscribers of this program.
        listeners: the receivers of this program.
    """

    def __init__(self, tell: Callable[[str], None]) -> None:
        self.broker = MemoryBroker()
        self._tell = tell
        self.listeners = Listeners()
        self._leased: OrderedDict[int, tuple[str, LeasedMessage]] = OrderedDict()
        self._taken = 0
        self._private: OrderedDict[str, float] = OrderedDict()

    def add(self, queue: str, body: bytes) -> None:
        """Keep a message for the receivers of a queue.

        Raises:
            TransportError: when the queue is full.
        """
        now = SYSTEM_CLOCK.monotonic()
        if queue.startswith(PRIVATE):
            self._private[queue] = now
            self._private.move_to_end(queue)
            self._forget(now - _KEPT_FOR)
        self.broker.find_queue(queue).add(body, now)
        self._tell(queue)

    def _forget(self, before: float) -> None:
        """Forget what was sent to processes that have not come back."""
        while (queue := next(iter(self._private))) and self._private[queue] < before:
            del self._private[queue]
            self.broker.drop_queue(queue)

    def handle(self, peer: str, frame: SocketFrame, body: bytes) -> tuple[SocketFrame, bytes] | None:
        """Do what a frame of another program says, and return the answer to a question."""
        match frame.kind:
            case "take":
                return self._take(peer, frame)
            case "acknowledge" | "postpone":
                self._settle(peer, frame)
                return SocketFrame(kind="answer"), b""
            case "replay":
                return self._replay(frame)
            case "topic":
                self.broker.publish(frame.name, body)
            case _:
                self.listeners.notify(frame.name)
        return None

    def _take(self, peer: str, frame: SocketFrame) -> tuple[SocketFrame, bytes]:
        queue, now = self.broker.look_up(frame.name), SYSTEM_CLOCK.monotonic()
        if queue is None:
            return SocketFrame(kind="answer"), b""
        if not (taken := queue.take(1, frame.seconds or 0.0, now)):
            ready_in = queue.ready_at - now
            return SocketFrame(kind="answer", seconds=None if ready_in == inf else max(0.0, ready_in)), b""
        self._taken += 1
        self._leased[self._taken] = peer, replace(taken[0], body=b"")
        if len(self._leased) > _MOST_LEASED:
            self._leased.popitem(last=False)  # its lease ends, and it comes again
        return SocketFrame(kind="answer", receipt=self._taken, deliveries=taken[0].deliveries), taken[0].body

    def _replay(self, frame: SocketFrame) -> tuple[SocketFrame, bytes]:
        """Return the next message that this program has published in topics."""
        kept = next(self.broker.find_kept(frame.name, frame.since, frame.receipt), None)
        if kept is None:
            return SocketFrame(kind="answer"), b""
        return SocketFrame(kind="answer", receipt=kept.number), kept.body

    def _settle(self, peer: str, frame: SocketFrame) -> None:
        """Remove or postpone a message that this program has leased to the other."""
        owner, message = self._leased.get(frame.receipt, ("", None))
        if message is None or owner != peer:
            return
        queue = self.broker.find_queue(message.queue)
        if frame.kind == "acknowledge":
            del self._leased[frame.receipt]
            queue.remove(message)
        else:
            queue.postpone(message, SYSTEM_CLOCK.monotonic() + (frame.seconds or 0.0))
            self._tell(message.queue)
