"""Messages that a node holds until their replies are sent, which another instance takes if this instance dies."""

from __future__ import annotations

from contextlib import suppress

from tactician.clock import Clock, pause
from tactician.mesh.transports.transport import LeasedMessage, Transport, TransportError


class HeldMessages:
    """Messages whose requests were accepted, by the keys of their runs.

    Args:
        transport: the transport.
        lease: seconds for which a message is held, unless the lease is extended.
        clock: the time.
    """

    def __init__(self, transport: Transport, lease: float, clock: Clock) -> None:
        self._transport = transport
        self._lease = lease
        self._clock = clock
        self._held: dict[str, LeasedMessage] = {}

    def __contains__(self, run_key: object) -> bool:
        return run_key in self._held

    def hold(self, run_key: str, message: LeasedMessage) -> None:
        """Hold a message until the reply is sent."""
        self._held[run_key] = message

    async def acknowledge(self, run_key: str) -> None:
        """Remove the message of a request that was answered.

        Raises:
            TransportError: when the broker does not answer.
        """
        if (message := self._held.pop(run_key, None)) is not None:
            await self._transport.acknowledge(message)

    async def release_all(self) -> None:
        """Give all messages back, so that another instance takes them at once."""
        for message in self._held.values():
            with suppress(TransportError):
                await self._transport.release(message)
        self._held.clear()

    async def keep_leases(self) -> None:
        """Extend the leases, until it is cancelled."""
        while True:
            await pause(self._lease / 3, self._clock)
            for message in tuple(self._held.values()):
                with suppress(TransportError):
                    await self._transport.extend(message, self._lease)
