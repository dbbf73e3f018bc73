"""Idempotency keys of people: two people who send the same key mean two runs."""

from __future__ import annotations

from hashlib import sha256

from tactician.people.person import Person


def scope_key(person: Person, key: str | None) -> str | None:
    """Return the idempotency key of a run for the key that a person sends; without tokens, all callers share keys."""
    return key if key is None or person.user is None else _create_key("run", person.name, key)


def create_message_key(person: Person, conversation_id: str, key: str) -> str:
    """Return the idempotency key of the run that answers a message, for the key that a person sends with it."""
    return _create_key("message", "" if person.user is None else person.name, conversation_id, key)


def _create_key(*parts: str) -> str:
    return f"api {sha256(repr(parts).encode('utf-8', 'surrogatepass')).hexdigest()}"
