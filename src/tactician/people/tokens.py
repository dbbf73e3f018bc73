"""Bearer tokens, and the person who has each."""

from __future__ import annotations

import re
from collections.abc import Mapping
from hashlib import sha256
from hmac import compare_digest
from typing import Final

from tactician.errors import ConfigurationError
from tactician.people.person import Person

SHORTEST_TOKEN: Final = 16
_TOKEN: Final = re.compile(r"[!-~]+")


class Tokens:
    """Bearer tokens and the people who have them. Only digests of the tokens are kept.

    Raises:
        ConfigurationError: when a token is too short, or no header can have it.
    """

    def __init__(self, people: Mapping[str, Person]) -> None:
        for token in people:
            check_token(token)
        self._people = [(_digest(token), person) for token, person in people.items()]

    def find(self, token: str) -> Person | None:
        """Return whose token it is, in the same time for every wrong token."""
        digest, owner = _digest(token), None
        for person_digest, person in self._people:
            if compare_digest(person_digest, digest):
                owner = person
        return owner


def check_token(token: str) -> None:
    """Check a bearer token.

    Raises:
        ConfigurationError: when it is too short, or no header can have it.
    """
    if len(token) < SHORTEST_TOKEN:
        raise ConfigurationError(f"A token must have at least {SHORTEST_TOKEN} characters.")
    if not _TOKEN.fullmatch(token):
        raise ConfigurationError(
            "A token may have only letters, digits and punctuation of ASCII: it has a space, a line break or another "
            "character, which no header can have."
        )


def _digest(token: str) -> bytes:
    return sha256(token.encode("utf-8", "replace")).digest()
