"""Document in memory, with its lease and its log."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, field, replace
from math import inf

from tactician.errors import StoredStateError
from tactician.stores.attachments import extract_attachments
from tactician.stores.document import Body, Lease, StoredDocument, StoredStep, get_text
from tactician.stores.packing import TextPacker


@dataclass(slots=True)
class MemoryEntry:
    """Document in memory, whose texts are kept beside it.

    Attributes:
        document: the document without its texts.
        number: place of the document in the order of first saves.
        header: header of the document.
        body: body of the document.
        steps: steps of the log.
        fence: fencing token of the newest lease; 0 when the document was never claimed.
        lease: the newest lease, unless it was released.
    """

    document: StoredDocument
    number: int
    header: Body = ""
    body: Body = ""
    steps: list[StoredStep] = field(default_factory=list)
    fence: int = 0
    lease: Lease | None = None

    def is_leased(self, now: float) -> bool:
        """Return whether somebody holds the lease."""
        return self.lease is not None and self.lease.expires_at > now

    def is_due(self, now: float) -> bool:
        """Return whether any worker may claim the document."""
        due_at = self.document.due_at
        return due_at is not None and due_at <= now

    def is_claimable(self, now: float) -> bool:
        """Return whether any worker may claim the document, and nobody holds it."""
        return self.is_due(now) and not self.document.is_closed and not self.is_leased(now)

    @property
    def claimable_at(self) -> float:
        """Time from which any worker may claim the document, unless the lease is extended."""
        due_at = inf if self.document.due_at is None else self.document.due_at
        return due_at if self.lease is None else max(due_at, self.lease.expires_at)

    def read(self, now: float, *, with_body: bool = True) -> StoredDocument:
        """Return the document as it stands."""
        lease = self.lease if self.is_leased(now) else None
        return replace(
            self.document,
            header=get_text(self.header),
            body=self.body if with_body else None,
            is_leased=lease is not None,
            owner="" if lease is None else lease.owner,
            lease_ends_at=None if lease is None else lease.expires_at,
            steps=len(self.steps),
            number=self.number,
        )

    def write(self, document: StoredDocument) -> None:
        """Take the version of a document; without a body, keep the present body."""
        self.document = replace(document, header="", body=None)
        self.header = document.header
        self.body = self.body if document.body is None else document.body

    def find_attachment(self, name: str) -> bytes | None:
        """Return the content of a picture or file of the body or of a step."""
        for body in (self.body, *(step.body for step in self.steps)):
            with suppress(StoredStateError):
                if (content := extract_attachments(get_text(body))[1].get(name)) is not None:
                    return content
        return None

    def pack(self, packer: TextPacker) -> None:
        """Compress all texts. A document that has no JSON form stays as it is."""
        kind = f"{self.document.collection}/{self.document.name}"
        bodies = [self.header, self.body, *(step.body for step in self.steps)]
        with suppress(StoredStateError):
            self.header, self.body, *packed = packer.pack(kind, bodies)
            self.steps = [replace(step, body=body) for step, body in zip(self.steps, packed, strict=True)]
