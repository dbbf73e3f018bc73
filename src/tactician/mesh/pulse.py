"""Pulse of a connection: a message to itself, again and again, which tells whether the broker carries messages."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress
from typing import Final

from tactician.clock import Clock, pause
from tactician.mesh.transports.transport import RESERVED, Transport, TransportError

_EVERY: Final = 10.0
_PATIENCE: Final = 5.0
_LATER: Final = 1.0


class Pulse:
    """Pulse of a connection.

    Args:
        clock: the time.
        on_return: called when the broker carries messages again.
    """

    def __init__(self, clock: Clock, on_return: Callable[[], None]) -> None:
        self._clock = clock
        self._on_return = on_return
        self._sent_at: float | None = None

    @property
    def is_away(self) -> bool:
        """True when the broker has not carried the last message within five seconds."""
        return self._sent_at is not None and self._clock.monotonic() - self._sent_at > _PATIENCE

    async def keep_beating(self, transport: Transport, instance: str) -> None:
        """Send and hear messages, until it is cancelled."""
        topic = f"{RESERVED}pulse.{instance}"
        listening = asyncio.create_task(self._keep_listening(transport, topic))
        try:
            while True:
                await pause(_EVERY, self._clock)
                if self._sent_at is None:
                    self._sent_at = self._clock.monotonic()
                with suppress(TransportError):
                    await transport.publish(topic, b"pulse")
        finally:
            listening.cancel()
            await asyncio.gather(listening, return_exceptions=True)

    async def _keep_listening(self, transport: Transport, topic: str) -> None:
        while True:
            with suppress(TransportError):
                async with transport.subscribe(topic) as messages:
                    async for _ in messages:
                        self._note_beat()
            await pause(_LATER, self._clock)

    def _note_beat(self) -> None:
        was_away, self._sent_at = self.is_away, None
        if was_away:
            self._on_return()
