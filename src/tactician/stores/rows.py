"""Documents and steps as rows of a database."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from sqlalchemy import Row

from tactician.errors import StoredStateError
from tactician.stores.checks import check_document
from tactician.stores.document import Lease, StoredDocument, StoredStep
from tactician.stores.statements import FIELDS


def key_values(collection: str, id: str) -> dict[str, object]:
    """Return the parameters of a statement on a document."""
    return {"of_collection": collection, "of_id": id}


def lease_values(lease: Lease) -> dict[str, object]:
    """Return the parameters of a statement on a leased document."""
    return {**key_values(lease.collection, lease.id), "of_fence": lease.fence}


def document_values(document: StoredDocument) -> dict[str, object]:
    """Return the parameters of a statement that saves a document.

    Raises:
        StoredStateError: when the document cannot be stored.
    """
    check_document(document)
    return {
        **key_values(document.collection, document.id),
        "of_version": document.version,
        "new_collection": document.collection,
        "new_id": document.id,
        "new_kind": document.kind,
        "new_name": document.name,
        "new_status": document.status,
        "new_parent_id": document.parent_id,
        "new_key": document.key,
        "new_priority": document.priority,
        "new_due_at": document.due_at,
        "new_is_closed": document.is_closed,
        "new_header": document.header,
        "new_body": None if document.body is None else document.text,
    }


def update_document(document: StoredDocument, row: Row[Any]) -> StoredDocument:
    """Return a document that was saved with its new version and times."""
    times = {"due_at": row.due_at, "created_at": row.created_at, "updated_at": row.updated_at}
    return replace(document, version=document.version + 1, **times)


def parse_document(row: Row[Any]) -> StoredDocument:
    """Return the document of a row.

    Raises:
        StoredStateError: when the row is damaged.
    """
    fields = dict(zip(FIELDS, row, strict=False))  # the attributes of a row are slow
    version, texts = fields["version"], (fields["header"], fields.get("body", ""))
    if not (isinstance(version, int) and version > 0 and all(isinstance(text, str) for text in texts)):
        raise _damage(f"{fields['collection']}/{fields['id']}")
    return StoredDocument(**{"body": None, **fields})


def parse_step(place: str, row: Row[Any]) -> StoredStep:
    """Return the step of a row of the document at a place.

    Raises:
        StoredStateError: when the row is damaged.
    """
    number, created_at, body = tuple(row)  # the attributes of a row are slow
    if not isinstance(body, str):
        raise _damage(f"Step {number} of {place}")
    return StoredStep(number, body, created_at)


def _damage(place: str) -> StoredStateError:
    return StoredStateError(f"{place} cannot be read: its row is damaged; delete it, or restore it.")
