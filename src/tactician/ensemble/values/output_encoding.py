"""JSON form of the output of a task, in which saved runs keep it."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import Final, cast

from pydantic import AwareDatetime, TypeAdapter

from tactician.ensemble.values.task_output import TaskOutput
from tactician.errors import StoredStateError
from tactician.runs.values.stored_values import decode_value, encode_value

_END: Final = "completed_at"
"""Key of the date of the end, as all versions of the stored format have it."""


class OutputCodec:
    """Codec between the outputs of a task and their JSON form.

    Args:
        kind: declared type of their parsed forms; `object` for forms that are JSON.
    """

    __slots__ = ("_kind",)

    def __init__(self, kind: object) -> None:
        self._kind = kind

    def encode(self, output: TaskOutput) -> object:
        """Return an output as JSON.

        Raises:
            StoredStateError: when its parsed form would not be read back equal.
        """
        plain = _encode_plainly(output)
        if output.parsed is None or output.parts:
            return plain
        return plain | {"parsed": encode_value(output.parsed, self._kind)}

    def encode_beside_run(self, output: TaskOutput) -> object:
        """Return an output as JSON, without a parsed form that is not JSON when no type is declared.

        The output of a task that other tasks did is left out with their outputs: the saved run has both.

        Raises:
            StoredStateError: when its parsed form would not be read back equal as the declared type.
        """
        try:
            return self.encode(output)
        except StoredStateError:
            if self._kind is object:
                return _encode_plainly(output)
            raise

    def decode(self, saved: object) -> TaskOutput:
        """Return the output that `encode` made.

        Raises:
            ValidationError: when it is not the JSON form of an output.
            StoredStateError: when its parsed form cannot be read as the declared type.
        """
        output = _adapter().validate_python(_read_end(saved))
        if output.parsed is None:
            return output
        return replace(output, parsed=decode_value(cast("str", output.parsed), self._kind))


def _encode_plainly(output: TaskOutput) -> dict[str, object]:
    plain: dict[str, object] = _adapter().dump_python(replace(output, parsed=None, parts=(), shown=()), mode="json")
    del plain["ended"]
    return plain | {_END: output.completed_at.isoformat()}


def _read_end(saved: object) -> object:
    """Return the saved form of an output with the time of its end in seconds."""
    if not isinstance(saved, dict) or _END not in saved:
        return saved
    return {**saved, "ended": _time_adapter().validate_python(saved[_END]).timestamp()}


@cache
def _time_adapter() -> TypeAdapter[AwareDatetime]:
    return TypeAdapter(AwareDatetime)


@cache
def _adapter() -> TypeAdapter[TaskOutput]:
    return TypeAdapter(TaskOutput)
