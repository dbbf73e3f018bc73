"""Withdrawals of killed runs: messages that cancel the work of other programs, kept until a sender has sent them."""

from __future__ import annotations

import json
from collections.abc import Iterable
from contextlib import suppress
from typing import Final

import pydantic

from tactician.errors import DocumentConflictError
from tactician.runs.outcomes.suspension import PendingRequest
from tactician.stores import DocumentStore
from tactician.stores.document import AT_ONCE, Lease, StoredDocument

_WITHDRAWALS: Final = "withdrawals"
_LEASE: Final = 30.0


async def save_withdrawals(store: DocumentStore, pending: Iterable[PendingRequest]) -> None:
    """Save what cancels the work for which a killed run has waited. The run itself runs no more, so it cannot."""
    for request in pending:
        if (withdrawal := request.withdrawal) is None or request.is_answered:
            continue
        body = json.dumps(withdrawal.content)
        document = StoredDocument(
            collection=_WITHDRAWALS, id=request.id, name=withdrawal.sender, body=body, due_at=AT_ONCE
        )
        with suppress(DocumentConflictError):  # it is saved already
            await store.save(document)


async def claim_withdrawal(store: DocumentStore, sender: str, owner: str) -> tuple[Lease, pydantic.JsonValue] | None:
    """Claim a message that a sender has to send; `finish_withdrawal` ends the claim, else it is sent again.

    Args:
        store: the store.
        sender: name of the sender.
        owner: name of the claimer.
    """
    claimed = await store.claim(_WITHDRAWALS, owner, _LEASE, names=[sender])
    return None if claimed is None else (claimed[1], json.loads(claimed[0].text))


async def finish_withdrawal(store: DocumentStore, lease: Lease) -> None:
    """Forget a message that was sent."""
    await store.delete(_WITHDRAWALS, lease.id)
