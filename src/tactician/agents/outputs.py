"""Outputs of functions in checkpoints, so that the functions need not run again."""

from __future__ import annotations

from dataclasses import dataclass

from pydantic_core import PydanticSerializationError, to_jsonable_python

from tactician.runs import Live, RunContext, encode_value
from tactician.tools import as_text

_KEY = "output"


@dataclass(frozen=True, slots=True)
class KeptOutput:
    """Output of a function that has run before the run was suspended or interrupted.

    Attributes:
        value: the object itself, or its JSON form when it comes from a store.
    """

    value: object


async def keep_output(context: RunContext, output: object, wanted: object) -> None:
    """Keep the output of a function in the checkpoint of its run.

    Args:
        context: context of the function.
        output: the output.
        wanted: its declared type. Where that is not known, an output is stored only if it equals its JSON form.
    """

    def encode(value: object) -> object:
        if wanted is not None:
            return {"value": encode_value(value, wanted)}
        try:
            plain = to_jsonable_python(value)
        except (PydanticSerializationError, ValueError, TypeError, RecursionError):
            return {}
        return {"value": plain} if plain == value else {}

    assert context.checkpoint is not None
    context.checkpoint.set(**{_KEY: Live(output, encode)})
    if context.is_saved:
        await context.save_step("function", context.path[-1], as_text(output))


def find_output(context: RunContext) -> KeptOutput | None:
    """Return the output that was kept, or `None` when the function has to run."""
    assert context.checkpoint is not None
    saved = context.checkpoint.data.get(_KEY)
    if isinstance(saved, Live):
        return KeptOutput(saved.value)
    return KeptOutput(saved["value"]) if isinstance(saved, dict) and "value" in saved else None
