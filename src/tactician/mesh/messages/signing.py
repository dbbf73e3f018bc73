"""Signatures of messages: HMAC-SHA256 by a key of the mesh, a time window, and keys that rotate."""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Sequence
from itertools import islice
from typing import Final

from tactician.errors import ConfigurationError
from tactician.mesh.messages.bounds import JsonObject, MessageError, write_canonical

SIGNATURE: Final = "signature"
KEY_ID: Final = "keyid"
SHORTEST_KEY: Final = 16
"""Characters of the shortest key."""
MOST_KEYS: Final = 4
"""Number of keys of a mesh while they are changed."""


class MessageSigner:
    """Signer of messages.

    Args:
        keys: keys of the mesh. A message is signed with all, and accepted when any of its signatures is by a key of
            the mesh, so that programs change their keys in any order.

    Raises:
        ConfigurationError: when a key is too short, or there are too many.
    """

    def __init__(self, keys: Sequence[str] = ()) -> None:
        if any(len(key) < SHORTEST_KEY for key in keys):
            raise ConfigurationError(
                f"A mesh key has fewer than {SHORTEST_KEY} characters. Make one with: openssl rand -hex 32"
            )
        if len(keys) > MOST_KEYS:
            raise ConfigurationError(f"A mesh has at most {MOST_KEYS} keys at a time, and only while they are changed.")
        self._keys = {_name_key(key): key.encode() for key in keys}

    def __repr__(self) -> str:
        return f"MessageSigner({len(self._keys)} keys)"

    @property
    def is_active(self) -> bool:
        """True when messages are signed, and have to be."""
        return bool(self._keys)

    def sign(self, event: JsonObject) -> None:
        """Add the signatures to a message."""
        if self._keys:
            event[KEY_ID] = ",".join(self._keys)
            event[SIGNATURE] = ",".join(_compute(key, event) for key in self._keys.values())

    def verify(self, event: JsonObject) -> None:
        """Check the signatures of a message, and remove them.

        Raises:
            MessageError: when the message is not signed with a key of the mesh.
        """
        signature = event.pop(SIGNATURE, None)
        if not self._keys:
            event.pop(KEY_ID, None)
            return
        if not isinstance(signature, str):
            raise MessageError("The message is not signed, and this mesh has a key.", reason="not_allowed")
        signatures = zip(str(event.get(KEY_ID)).split(","), signature.split(","), strict=False)
        if not any(self._is_valid(event, key_id, each) for key_id, each in islice(signatures, MOST_KEYS)):
            raise MessageError("The message is not signed with a key of this mesh.", reason="not_allowed")
        del event[KEY_ID]

    def _is_valid(self, event: JsonObject, key_id: str, signature: str) -> bool:
        key = self._keys.get(key_id)
        return key is not None and hmac.compare_digest(
            _compute(key, event).encode(), signature.encode("utf-8", "replace")
        )


def _name_key(key: str) -> str:
    """Return a name of a key that does not tell the key."""
    return hashlib.sha256(b"tactician.mesh.key:" + key.encode()).hexdigest()[:16]


def _compute(key: bytes, event: JsonObject) -> str:
    return hmac.new(key, write_canonical(event), hashlib.sha256).hexdigest()
