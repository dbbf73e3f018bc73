"""Signed hello of two programs: each proves that it has a key of the mesh, without showing it."""

from __future__ import annotations

import secrets
from typing import Final, Literal, Protocol

from aiohttp import WSMessage, WSMsgType
from pydantic_core import to_json

from tactician.mesh.messages.bounds import JsonObject, MessageError, parse_bounded
from tactician.mesh.messages.signing import MessageSigner

PROTOCOL: Final = 1
"""Version of the frames between two programs."""
_MOST_ID: Final = 100
Role = Literal["caller", "listener"]


class Socket(Protocol):
    """WebSocket of either side."""

    async def receive(self) -> WSMessage:
        """Return the next message."""
        ...

    async def send_bytes(self, data: bytes) -> None:
        """Send a message."""
        ...

    async def close(self, *, code: int = 1000, message: bytes = b"") -> object:
        """Close the connection."""
        ...


async def shake_hands(socket: Socket, signer: MessageSigner, id: str, role: Role) -> str:
    """Return the id of the program at the other end.

    Each end sends a random number, and signs the number of the other end together with both ids and its role, so that
    no answer can be used a second time or in the other direction.

    Raises:
        MessageError: when it speaks another version, or is not of this mesh.
    """
    nonce = secrets.token_hex(16)
    await _send(socket, {"protocol": PROTOCOL, "id": id, "nonce": nonce})
    hello = await _receive(socket)
    if hello.get("protocol") != PROTOCOL:
        raise MessageError(f"The other program speaks version {hello.get('protocol')!r} of the frames, not {PROTOCOL}.")
    peer = hello.get("id")
    if not isinstance(peer, str) or not 0 < len(peer) <= _MOST_ID:
        raise MessageError("The other program has no valid id.")
    proof: JsonObject = {"role": role, "from": id, "to": peer, "nonce": hello.get("nonce")}
    signer.sign(proof)
    await _send(socket, proof)
    answer = await _receive(socket)
    signer.verify(answer)
    other = "listener" if role == "caller" else "caller"
    if answer != {"role": other, "from": peer, "to": id, "nonce": nonce}:
        raise MessageError("The other program has not answered the hello.", reason="not_allowed")
    return peer


async def _send(socket: Socket, value: JsonObject) -> None:
    await socket.send_bytes(to_json(value))


async def _receive(socket: Socket) -> JsonObject:
    message = await socket.receive()
    if message.type is not WSMsgType.BINARY:
        raise MessageError("The other program has closed the connection: is its key a key of this mesh?")
    return parse_bounded(message.data)
