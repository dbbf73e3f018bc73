"""Errors of libraries of documents."""

from __future__ import annotations

from tactician.errors import TacticianError


class UnreadableDocumentError(TacticianError):
    """Error for a document that cannot be read: its message says why, and not which document."""
