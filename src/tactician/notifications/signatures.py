"""Signatures of webhooks by the specification Standard Webhooks (https://www.standardwebhooks.com)."""

from __future__ import annotations

import base64
import binascii
import hmac
import secrets
from hashlib import sha256
from typing import Final

from tactician.errors import ConfigurationError

_PREFIX: Final = "whsec_"
_FEWEST_BYTES: Final = 24
_MOST_BYTES: Final = 64


def create_webhook_secret() -> str:
    """Return a new secret, with which both sides of a webhook sign and verify."""
    return _PREFIX + base64.b64encode(secrets.token_bytes(32)).decode()


def sign_webhook(secret: str, message_id: str, sent_at: int, body: bytes) -> dict[str, str]:
    """Return the headers that identify and sign a message.

    Args:
        secret: the secret: `whsec_` and base64 of 24 to 64 bytes.
        message_id: id of the message, the same whenever it is sent again.
        sent_at: time of this attempt, in seconds since the epoch.
        body: what is sent.

    Raises:
        ConfigurationError: when the secret does not have this form, or the id has a full stop in it.
    """
    if "." in message_id:
        raise ConfigurationError(f"The id of a webhook must have no full stop in it: {message_id[:100]!r}")
    signed = f"{message_id}.{sent_at}.".encode() + body
    digest = hmac.digest(_read_secret(secret), signed, sha256)
    signature = f"v1,{base64.b64encode(digest).decode()}"
    return {"webhook-id": message_id, "webhook-timestamp": str(sent_at), "webhook-signature": signature}


def _read_secret(secret: str) -> bytes:
    try:
        key = base64.b64decode(secret.removeprefix(_PREFIX), validate=True)
    except (binascii.Error, ValueError):
        key = b""
    if not _FEWEST_BYTES <= len(key) <= _MOST_BYTES:
        # The secret itself must be in no message.
        raise ConfigurationError(
            f"The secret of a webhook must be {_PREFIX!r} and base64 of {_FEWEST_BYTES} to {_MOST_BYTES} bytes: "
            "create_webhook_secret() makes one"
        )
    return key
