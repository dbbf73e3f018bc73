"""Link to another program: questions with answers, and news, over one socket."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from itertools import count
from typing import Final, TypeAlias

from aiohttp import ClientError, WSMsgType

from tactician.clock import SYSTEM_CLOCK, Timeout
from tactician.mesh.transports.transport import TransportError
from tactician.mesh.transports.websocket.frames import SocketFrame, read_frame, write_frame
from tactician.mesh.transports.websocket.handshake import Socket

Message: TypeAlias = tuple[SocketFrame, bytes]
_ANSWER_WITHIN: Final = 5.0
_BROKEN: Final = (ClientError, OSError, TimeoutError, RuntimeError)
"""Errors of a socket that is closed; aiohttp raises a `RuntimeError` for some."""


class SocketLink:
    """Link to another program.

    Args:
        socket: the socket, after the hello.
        peer: id of the other program.
        handle: what to do with a frame of the other program; it returns the answer to a question.
    """

    def __init__(self, socket: Socket, peer: str, handle: Callable[[str, SocketFrame, bytes], Message | None]) -> None:
        self.peer = peer
        self._socket = socket
        self._handle = handle
        self._numbers = count(1)
        self._waiting: dict[int, asyncio.Future[Message]] = {}

    async def serve(self) -> None:
        """Read frames until the connection ends.

        Raises:
            MessageError: when a frame is not valid.
        """
        try:
            while (message := await self._socket.receive()).type is WSMsgType.BINARY:
                await self._read(message.data)
        finally:
            for waiting in self._waiting.values():
                waiting.cancel()

    async def _read(self, data: bytes) -> None:
        frame, body = read_frame(data)
        if frame.kind == "answer":
            if (waiting := self._waiting.get(frame.call)) is not None and not waiting.done():
                waiting.set_result((frame, body))
        elif (answer := self._handle(self.peer, frame, body)) is not None:
            await self.post(answer[0].model_copy(update={"call": frame.call}), answer[1])

    async def ask(self, frame: SocketFrame) -> Message:
        """Return the answer to a question.

        Raises:
            TransportError: when there is no answer.
        """
        call = next(self._numbers)
        waiting: asyncio.Future[Message] = asyncio.get_running_loop().create_future()
        self._waiting[call] = waiting
        try:
            await self.post(frame.model_copy(update={"call": call}))
            with Timeout(_ANSWER_WITHIN, SYSTEM_CLOCK):
                await asyncio.wait([waiting])
        except TimeoutError:
            raise TransportError(f"The program {self.peer} does not answer.") from None
        finally:
            del self._waiting[call]
        if waiting.cancelled():
            raise TransportError(f"The program {self.peer} has gone.")
        return waiting.result()

    async def post(self, frame: SocketFrame, body: bytes = b"") -> None:
        """Send a frame.

        Raises:
            TransportError: when the connection has ended.
        """
        try:
            await self._socket.send_bytes(write_frame(frame, body))
        except _BROKEN as error:
            raise TransportError(f"The program {self.peer} has gone.") from error
