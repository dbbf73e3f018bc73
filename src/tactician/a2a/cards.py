"""Signatures of agent cards, by the SDK: ES256 over the canonical JSON of the card."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from a2a.types import AgentCard
from a2a.utils.signing import (
    ProtectedHeader,
    SignatureVerificationError,
    create_agent_card_signer,
    create_signature_verifier,
)

from tactician.a2a.errors import RemoteCardError
from tactician.errors import ConfigurationError

_ALGORITHM: Final = "ES256"


def sign_card(card: AgentCard, key: str, key_id: str) -> AgentCard:
    """Add a signature to a card, with a private key of the curve P-256 in PEM form.

    Raises:
        ConfigurationError: when the key cannot be used.
    """
    header = ProtectedHeader(kid=key_id, alg=_ALGORITHM, jku=None, typ="JOSE")
    try:
        return create_agent_card_signer(key, header)(card)
    except Exception:  # the error of the library may quote the key
        raise ConfigurationError(
            "The signing key of the agent card cannot be used: it must be a private key of the curve P-256, as PEM."
        ) from None


def create_verifier(place: str, key: str) -> Callable[[AgentCard], None]:
    """Return a function that checks the signatures of a card with a public key in PEM form.

    Args:
        place: address of the card, for errors.
        key: the key.
    """
    verify = create_signature_verifier(lambda kid, jku: key, [_ALGORITHM])

    def check(card: AgentCard) -> None:
        try:
            verify(card)
        except SignatureVerificationError as error:
            raise RemoteCardError(f"{place}: the agent card has no valid signature by that key: {error}") from None

    return check
