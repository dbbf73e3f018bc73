"""JSON form of the output of a task, in which saved runs keep it."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import cast

from pydantic import TypeAdapter

from tactician.ensemble.task_output import TaskOutput
from tactician.errors import StoredStateError
from tactician.runs import decode_value, encode_value


def encode_task_output(output: TaskOutput, kind: object, *, may_omit: bool = False) -> object:
    """Return an output as JSON.

    Args:
        output: the output.
        kind: declared type of its parsed form; `object` for a form that is JSON.
        may_omit: true to leave out a parsed form that is not JSON, when no type is declared. That of a task that other
            tasks did is left out with their outputs: the saved run has both.

    Raises:
        StoredStateError: when its parsed form would not be read back equal.
    """
    plain: dict[str, object] = _adapter().dump_python(replace(output, parsed=None, parts=(), shown=()), mode="json")
    if output.parsed is None or output.parts:
        return plain
    try:
        return plain | {"parsed": encode_value(output.parsed, kind)}
    except StoredStateError:
        if may_omit and kind is object:
            return plain
        raise


def decode_task_output(saved: object, kind: object) -> TaskOutput:
    """Return the output that `encode_task_output` wrote.

    Raises:
        ValidationError: when it is not the JSON form of an output.
        StoredStateError: when its parsed form cannot be read as the declared type.
    """
    output = _adapter().validate_python(saved)
    return output if output.parsed is None else replace(output, parsed=decode_value(cast("str", output.parsed), kind))


@cache
def _adapter() -> TypeAdapter[TaskOutput]:
    return TypeAdapter(TaskOutput)
