"""Which runs and requests a person may see: all with the right `see`, else the person's own, and what asks a role."""

from __future__ import annotations

from typing import Final

from tactician.people.person import Person, Right
from tactician.runs import PendingRequest

CONVERSATIONS_ROLE: Final = "conversations"
"""Role of those who may read and delete the conversations of all people."""
READERS: Final[tuple[Right, ...]] = ("see", "start")
"""Rights of those who see runs: all of them, or those that they have started."""
ANYBODY: Final[tuple[Right, ...]] = ("see", "start", "answer")
"""Rights of those who see runs, or requests that they may answer."""


def sees_run(person: Person, user: str | None) -> bool:
    """Return whether a person may see a run that works for a user: any run, or a run that the person has started."""
    if "see" in person.rights:
        return True
    return user is not None and person.user is not None and person.user.id == user


def may_answer(person: Person, request: PendingRequest, *, sees_run: bool) -> bool:
    """Return whether a person may answer a request: with its role, or where it needs none, with sight of its run."""
    if "answer" not in person.rights or not request.is_for_people:
        return False
    role = request.required_role
    return sees_run if role is None else person.find_role(role) is not None


def may_read_conversation(person: Person, owner: str | None) -> bool:
    """Return whether a person may read the conversation of an owner; `None` for a conversation of the program."""
    if person.find_role(CONVERSATIONS_ROLE) is not None:
        return True
    if owner is None:
        return "see" in person.rights
    return person.user is not None and person.user.id == owner


def find_owner(person: Person) -> str | None:
    """Return the id of the user whose runs a person sees; `None` when the person sees everybody's runs."""
    if "see" in person.rights:
        return None
    return "" if person.user is None else person.user.id
