"""Output of a completed run, in a checkpoint of its own."""

from __future__ import annotations

from typing import Final

from pydantic_core import PydanticSerializationError, to_json

from tactician.errors import StoredStateError
from tactician.runs.progress.checkpoint import Checkpoint, Live, revive
from tactician.runs.values.stored_values import encode_value

_KEY: Final = "@output"
"""Key of the checkpoint inside the outermost checkpoint."""


def format_output(output: object) -> str:
    """Return an output as text: JSON, where it is not text."""
    if isinstance(output, str):
        return output
    try:
        return to_json(output, fallback=repr).decode()
    except (PydanticSerializationError, ValueError):
        return repr(output)


def record_output(tree: Checkpoint, output: object) -> None:
    """Set the output of a run; the next step that is saved has it."""
    tree.at(_KEY).set(value=Live(output, _encode))


def forget_output(tree: Checkpoint) -> None:
    """Remove the output of a run that is about to continue."""
    tree.drop(_KEY)


def read_output(tree: Checkpoint) -> object:
    """Return the output of a completed run: the object itself, where the store keeps objects; else its JSON form.

    It is `None` for a run that has not completed, and for an output without a JSON form.
    """
    return revive(tree.at(_KEY).data.get("value"), lambda value: value)


def _encode(output: object) -> object:
    try:
        return encode_value(output)
    except StoredStateError:  # the run has completed all the same
        return None
