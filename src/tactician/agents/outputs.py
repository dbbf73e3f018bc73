"""Outputs of functions: validated as declared types, and saved in checkpoints."""

from __future__ import annotations

from functools import partial
from typing import Any, cast, get_origin

from pydantic import JsonValue

from tactician.errors import DeclarationError
from tactician.frozen import frozen
from tactician.grammar import add_article
from tactician.loop import output_type
from tactician.loop.output import InvalidOutput
from tactician.runs import RunContext
from tactician.runs.progress.checkpoint import Live, revive
from tactician.runs.values.stored_values import decode_value, encode_value
from tactician.tools.tool import as_text

_KEY = "output"


def accept_output(value: object, kind: object) -> object:
    """Return a value validated as a declared type; text and JSON are parsed.

    Raises:
        InvalidOutput: when it is neither.
    """
    if kind in (None, object, Any) or (isinstance(kind, type) and isinstance(value, kind)):
        return value
    try:
        return output_type(cast("type[object]", kind)).accept(value)
    except DeclarationError:  # a class that has no JSON form: only its class can be checked
        if isinstance(value, cast("type[object]", get_origin(kind) or kind)):
            return value
        raise InvalidOutput(f"it is {add_article(type(value).__name__)}") from None


@frozen
class SavedOutput:
    """Output of a function that ran before the run was suspended or interrupted."""

    value: object


async def save_output(context: RunContext, output: object, declared: object) -> None:
    """Save the output of a function in the checkpoint of its run.

    Args:
        context: context of the function.
        output: the output.
        declared: its declared type; `None` if it declares none: then its output must be JSON in a run that is
            saved.

    Raises:
        StoredStateError: when the run is saved, and the output would not be read back equal.
    """
    assert context.checkpoint is not None
    encode = partial(encode_value, kind=object if declared is None else declared)
    context.checkpoint.set(**{_KEY: Live.create(output, encode, is_saved=context.is_saved)})
    if context.is_saved:
        await context.save_step("function", context.path[-1], as_text(output))


def load_output(context: RunContext, declared: object) -> SavedOutput | None:
    """Return the saved output, or `None` when the function has to run.

    Raises:
        StoredStateError: when it cannot be read as the declared type.
    """
    assert context.checkpoint is not None
    if _KEY not in context.checkpoint.data:
        return None
    saved, kind = context.checkpoint.data[_KEY], object if declared is None else declared
    return SavedOutput(revive(saved, lambda value: decode_value(cast("JsonValue", value), kind)))
