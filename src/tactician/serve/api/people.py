"""People and programs that call the server: by their tokens, and what each may do."""

from __future__ import annotations

import re
from collections.abc import Mapping
from hashlib import sha256
from hmac import compare_digest
from typing import Final, Literal, TypeAlias

from tactician.conversation import ChatUser
from tactician.errors import ConfigurationError
from tactician.frozen import frozen

Right: TypeAlias = Literal["see", "start", "answer"]
ALL_RIGHTS: Final[frozenset[Right]] = frozenset({"see", "start", "answer"})
SHORTEST_TOKEN: Final = 16
_TOKEN: Final = re.compile(r"[!-~]+")


@frozen
class Person:
    """Person or program that calls the server.

    Attributes:
        name: the name, which the answers to requests of runs keep.
        roles: the roles; a request of a run with a required role takes no answer without it.
        rights: `"see"` runs and agents, `"start"` and end runs, `"answer"` requests; all by default.
        has_every_role: true for whoever calls from this machine where nobody needs a token.
    """

    name: str
    roles: frozenset[str] = frozenset()
    rights: frozenset[Right] = ALL_RIGHTS
    has_every_role: bool = False

    @property
    def user(self) -> ChatUser | None:
        """The person as the user of conversations; `None` where nobody needs a token."""
        return None if self.has_every_role else ChatUser(self.name)

    def find_role(self, required: str | None) -> str | None:
        """Return the role for a request that requires one, if the person has it."""
        return required if required is not None and (self.has_every_role or required in self.roles) else None


LOCAL: Final = Person("local", has_every_role=True)


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
        for known, person in self._people:
            if compare_digest(known, digest):
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
