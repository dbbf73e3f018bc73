"""Signatures of messages: HMAC-SHA256 by a key of the mesh, a time window, and keys that rotate."""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Sequence
from typing import Final

from tactician.errors import ConfigurationError
from tactician.mesh.messages.bounds import JsonObject, MessageError, write_canonical

SIGNATURE: Final = "signature"
KEY_ID: Final = "keyid"
SHORTEST_KEY: Final = 16
"""Characters of the shortest key."""


class MessageSigner:
    """Signer of messages.

    Args:
        keys: keys of the mesh. The first signs; messages that are signed with any of them are accepted, so that keys
            can be changed one node after the other.

    Raises:
        ConfigurationError: when a key is too short.
    """

    def __init__(self, keys: Sequence[str] = ()) -> None:
        if any(len(key) < SHORTEST_KEY for key in keys):
            raise ConfigurationError(
                f"A mesh key has fewer than {SHORTEST_KEY} characters. Make one with: openssl rand -hex 32"
            )
        self._keys = {_name_key(key): key.encode() for key in keys}

    def __repr__(self) -> str:
        return f"MessageSigner({len(self._keys)} keys)"

    @property
    def is_active(self) -> bool:
        """True when messages are signed, and have to be."""
        return bool(self._keys)

    def sign(self, event: JsonObject) -> None:
        """Add the signature to a message."""
        if self._keys:
            event[KEY_ID], key = next(iter(self._keys.items()))
            event[SIGNATURE] = _compute(key, event)

    def verify(self, event: JsonObject) -> None:
        """Check the signature of a message, and remove it.

        Raises:
            MessageError: when the message is not signed with a key of the mesh.
        """
        signature = event.pop(SIGNATURE, None)
        if not self._keys:
            event.pop(KEY_ID, None)
            return
        if not isinstance(signature, str):
            raise MessageError("The message is not signed, and this mesh has a key.", reason="not_allowed")
        key = self._keys.get(str(event.get(KEY_ID)))
        if key is None or not hmac.compare_digest(_compute(key, event).encode(), signature.encode("utf-8", "replace")):
            raise MessageError("The message is not signed with a key of this mesh.", reason="not_allowed")
        del event[KEY_ID]


def _name_key(key: str) -> str:
    """Return a name of a key that does not tell the key."""
    return hashlib.sha256(b"tactician.mesh.key:" + key.encode()).hexdigest()[:16]


def _compute(key: bytes, event: JsonObject) -> str:
    return hmac.new(key, write_canonical(event), hashlib.sha256).hexdigest()
