"""Versioned documents, the steps of their logs, and leases."""

from __future__ import annotations

from dataclasses import field
from typing import Final, Protocol, TypeAlias

from tactician.clock import SYSTEM_CLOCK
from tactician.frozen import frozen

AT_ONCE: Final = 0.0
"""The `due_at` of a document that may be claimed now: the store replaces it by its own time."""

PRIORITY_AGEING: Final = 60.0
"""Seconds of waiting that weigh as much as a point of priority, so that no document waits for ever."""


class SupportsJson(Protocol):
    """Object with a JSON form."""

    def to_json(self) -> str:
        """Return the object as JSON text."""
        ...


Body: TypeAlias = str | SupportsJson


@frozen(kw_only=True)
class StoredDocument:
    """Version of a document, as it is to be stored or was loaded.

    Attributes:
        collection: namespace of the id, such as `"runs"`.
        id: unique within the collection.
        body: content. A database stores its text; a store in memory keeps the object while the document is worked on,
            so that it must not change any more. A save of `None` keeps the stored body; a document that was read
            without its body has `None`.
        header: small text that every save writes, even if it keeps the body.
        version: number of saves; 0 for a document that is not stored.
        kind: kind of document within the collection.
        name: name to find and claim documents by.
        status: status to find documents by.
        parent_id: id of the document that it belongs to.
        key: idempotency key, unique within the collection unless it is `None`.
        priority: rank among the documents that are due: the highest is claimed first, but for those that have waited
            for longer, by `PRIORITY_AGEING` seconds for each point.
        due_at: seconds since the epoch, by the store's clock, from which any worker may claim the document: `AT_ONCE`,
            or `None` for a document that is claimed by its id only.
        is_closed: true for a document that can no longer be claimed.
        created_at: time of the first save, set by the store.
        updated_at: time of the last save, set by the store.
        is_leased: true when somebody held the lease as the document was read; not part of the version.
        owner: name of the holder of the lease then; empty when nobody held it.
        lease_ends_at: seconds since the epoch, by the store's clock, when that lease ends unless it is renewed.
        steps: number of steps in the log as the document was read; not part of the version.
        number: place of the document in the order in which documents were saved first, set by the store.
    """

    collection: str
    id: str
    body: Body | None
    header: str = ""
    version: int = 0
    kind: str = ""
    name: str = ""
    status: str = ""
    parent_id: str | None = None
    key: str | None = None
    priority: int = 0
    due_at: float | None = None
    is_closed: bool = False
    created_at: float = 0.0
    updated_at: float = 0.0
    is_leased: bool = field(default=False, compare=False)
    owner: str = field(default="", compare=False)
    lease_ends_at: float | None = field(default=None, compare=False)
    steps: int = field(default=0, compare=False)
    number: int = field(default=0, compare=False)

    @property
    def text(self) -> str:
        """The body as text.

        Raises:
            ValueError: when the document was read without its body.
        """
        if self.body is None:
            raise ValueError(f"{self.collection}/{self.id} was read without its body: load it.")
        return get_text(self.body)


@frozen
class StoredStep:
    """Step in the log of a document.

    Attributes:
        number: place in the log: 1 for the first step, and then the next number.
        body: content, in the form of a document's.
        created_at: time of the append, set by the store.
    """

    number: int
    body: Body
    created_at: float = 0.0

    @property
    def text(self) -> str:
        """The body as text."""
        return get_text(self.body)


@frozen
class Lease:
    """Exclusive right to change a document for some time.

    Attributes:
        collection: collection of the document.
        id: id of the document.
        owner: name of the owner.
        fence: monotonically increasing fencing token.
        expires_at: seconds since the epoch, by the store's clock.
        requested_at: monotonic time by the clock of the store, before the store was asked for the lease: the lease
            has begun later, so that nobody else can claim the document within its duration from then on.
    """

    collection: str
    id: str
    owner: str
    fence: int
    expires_at: float
    requested_at: float = field(default_factory=SYSTEM_CLOCK.monotonic, compare=False, repr=False)


def get_text(body: Body) -> str:
    """Return a body as text.

    Raises:
        StoredStateError: when it has no JSON form.
    """
    return body if isinstance(body, str) else body.to_json()
