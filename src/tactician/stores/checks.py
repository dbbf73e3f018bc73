"""Errors of stores, and checks of what every store can keep."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from contextlib import contextmanager
from math import isnan
from typing import Final

from pydantic_core import PydanticSerializationError

from tactician.errors import DocumentConflictError, LeaseLostError, StoredStateError
from tactician.stores.document import Body, Lease, StoredDocument, StoredStep

_BIGGEST: Final = 2**31 - 1
"""Largest number of the columns of databases."""


def document_conflict(document: StoredDocument) -> DocumentConflictError:
    """Return the error of a save that came too late."""
    return DocumentConflictError(f"{document.collection}/{document.id} was changed by another worker: load it again.")


def key_conflict(document: StoredDocument, other_id: str) -> DocumentConflictError:
    """Return the error of a document whose key another has."""
    return DocumentConflictError(
        f"{document.collection}/{document.id} was not saved: {document.collection}/{other_id} has the same key."
    )


def step_conflict(lease: Lease, step: StoredStep, is_closed: bool) -> DocumentConflictError:
    """Return the error of a step that does not fit."""
    reason = "the document is closed" if is_closed else "it is not the next"
    return DocumentConflictError(
        f"Step {step.number} was not appended to {lease.collection}/{lease.id}: {reason}. Load the document again."
    )


def lease_lost(collection: str, id: str) -> LeaseLostError:
    """Return the error of a worker whose lease is no longer the newest."""
    return LeaseLostError(f"{collection}/{id} has been taken by another worker.")


def check_document(document: StoredDocument) -> None:
    """Check that every store can keep a document.

    Raises:
        StoredStateError: when it is new and has no body, its priority or `due_at` is not a number that databases
            have, or `check_texts` refuses any of its texts.
    """
    if document.body is None and not document.version:
        raise StoredStateError(f"{document.collection}/{document.id} cannot be stored: a new document needs a body.")
    _check_numbers(document)
    check_texts(
        id=document.id,
        name=document.name,
        status=document.status,
        parent_id=document.parent_id,
        key=document.key,
        header=document.header,
        body=_text_of(document.body),
    )


def _check_numbers(document: StoredDocument) -> None:
    """Check that a document has a place in the queue: otherwise nobody could claim any document of the store."""
    priority: object = document.priority
    due_at: object = document.due_at  # whatever somebody wrote
    if type(priority) is not int or not -_BIGGEST <= priority <= _BIGGEST:
        raise StoredStateError(
            f"{document.collection}/{document.id} cannot be stored: its priority is {priority!r}, and must be a whole "
            f"number from -{_BIGGEST} to {_BIGGEST}."
        )
    if due_at is not None and (not isinstance(due_at, int | float) or isnan(due_at)):
        raise StoredStateError(
            f"{document.collection}/{document.id} cannot be stored: its due_at is {due_at!r}, and must be a number."
        )


def check_step(step: StoredStep) -> None:
    """Check that every store can keep a step; see `check_texts`."""
    check_texts(body=_text_of(step.body))


def check_filters(statuses: Collection[str], names: Collection[str], parent_id: str | None, key: str | None) -> None:
    """Check that documents can have what a filter asks for; see `check_texts`."""
    check_texts(parent_id=parent_id, key=key)
    for status in statuses:
        check_texts(status=status)
    for name in names:
        check_texts(name=name)


def _text_of(body: Body | None) -> str | None:
    return body if isinstance(body, str) else None


def check_texts(**texts: str | None) -> None:
    """Check that every store can keep some texts.

    Raises:
        StoredStateError: when a text has a NUL character or half of a surrogate pair.
    """
    for name, text in texts.items():
        if text is not None and (place := _find_invalid(text)) >= 0:
            raise StoredStateError(
                f"The {name} cannot be stored: its character {place} is not valid: U+{ord(text[place]):04X}. Remove it."
            )


@contextmanager
def translate_json_errors(subject: str) -> Iterator[None]:
    """Name what cannot be stored when the block fails to write it as JSON, such as half of a surrogate pair.

    Raises:
        StoredStateError: when it does.
    """
    try:
        yield
    except PydanticSerializationError as error:
        raise StoredStateError(f"{subject} cannot be stored: {error}") from error


def escape_invalid(text: str) -> str:
    r"""Return the text, with characters that not every store can keep replaced by escapes such as `\ud83d`."""
    if _find_invalid(text) < 0:
        return text
    return text.encode(errors="backslashreplace").decode().replace("\0", r"\x00")


def _find_invalid(text: str) -> int:
    """Return the place of the first character that no database has, or -1."""
    if not text.isascii():
        try:
            text.encode()
        except UnicodeEncodeError as error:
            return error.start
    return text.find("\0")
