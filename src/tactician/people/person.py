"""People and programs that use a platform over a network, with their roles and rights."""

from __future__ import annotations

from typing import Final, Literal, TypeAlias

from tactician.conversation import ChatUser
from tactician.frozen import frozen

Right: TypeAlias = Literal["see", "start", "answer", "direct"]
ALL_RIGHTS: Final[frozenset[Right]] = frozenset({"see", "start", "answer", "direct"})


@frozen
class Person:
    """Person or program that calls the server.

    Attributes:
        name: the name, which the answers to requests of runs keep.
        roles: the roles; a request of a run with a required role takes no answer without it.
        rights: `"see"` runs and agents, `"start"` and end runs, `"answer"` requests, `"direct"` the nodes of a mesh;
            all by default.
        has_every_role: true for callers from this machine where nobody needs a token.
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
