"""Bounds of what is kept from a run, as outputs of models may be of any length."""

from __future__ import annotations

from tactician.stores.checks import escape_invalid


def bound_text(text: str, most_chars: int) -> str:
    """Return a text that every store can keep. A longer text is cut off, and ends with a note that says so."""
    valid = escape_invalid(text)
    if len(valid) <= most_chars:
        return valid
    note = f"… (cut off, of {len(valid)} characters)"
    return valid[: most_chars - len(note)] + note
