"""Steps of a run: what each did, as it is appended to the log of the run, and snapshots of the log up to a step."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import field, fields
from functools import cache
from typing import Final, NamedTuple

import pydantic
from pydantic_core import PydanticSerializationError, to_json
from typing_extensions import TypedDict

from tactician.errors import StoredStateError
from tactician.frozen import frozen
from tactician.runs.outcomes.budget import NOTHING_SPENT, Spent
from tactician.runs.outcomes.suspension import PendingRequest
from tactician.runs.progress.checkpoint import Checkpoint, Live, Operation, SavedCheckpoint
from tactician.runs.progress.formats import STORED_FORMAT, Format, read_stored
from tactician.stores.checks import escape_invalid, translate_json_errors
from tactician.stores.document import Body, StoredStep

_DETAIL_LENGTH: Final = 500


class RunStart(TypedDict):
    """Beginning of a run: its input, as `save_input` returns it, and the limits of its budget."""

    input: object
    limits: dict[str, float | None]


@frozen(kw_only=True)
class RunStep:
    """Step of a run: a model's answer, a tool's result, an action, an answer of a person ...

    Attributes:
        kind: kind of step, such as `"answer"`, `"tool"`, `"action"`, `"suspended"` or `"completed"`.
        name: name of what was done, such as the name of a tool.
        detail: beginning of the result as text, for people.
        path: names of the runs inside each other that lead to the step, outermost first.
        at: seconds since the epoch.
        spent: usage of the run, this step included.
        pending: requests for which the run waits after the step.
        start: beginning of the run; only the first step has it, also in a fork with another input.
        operations: changes of the checkpoints.
        events: events since the last step, as JSON, one on a line.
        format: version of the form that the step was read from.
    """

    kind: str
    name: str = ""
    detail: str = ""
    path: tuple[str, ...] = ()
    at: float
    spent: Spent
    pending: tuple[PendingRequest, ...] = ()
    start: RunStart | None = field(default=None, repr=False)
    operations: tuple[Operation, ...] = field(default=(), repr=False)
    events: str = field(default="", repr=False)
    format: Format = field(default=1, repr=False)

    def to_json(self) -> str:
        """Return the step as JSON.

        Raises:
            StoredStateError: when a value has no JSON form.
        """
        return _to_json(self, f"The step {self.kind} {self.name}".rstrip())


@frozen(kw_only=True)
class Snapshot:
    """State of a run after a step, as the body of its record."""

    step: int = 0
    start: RunStart
    spent: Spent
    tree: SavedCheckpoint
    format: Format = 1

    def to_json(self) -> str:
        """Return the snapshot as JSON.

        Raises:
            StoredStateError: when a value has no JSON form.
        """
        return _to_json(self, "The state of the run")


def shorten(text: str) -> str:
    """Return the beginning of a text, as the detail of a step; with escapes for what no store can keep."""
    return escape_invalid(text if len(text) <= _DETAIL_LENGTH else f"{text[: _DETAIL_LENGTH - 1]}…")


def read_step(stored: StoredStep) -> RunStep:
    """Read a stored step: from untrusted text, or the object itself from a store in memory.

    Raises:
        StoredStateError: when the text is not a step, or a newer program has saved it.
    """
    if isinstance(stored.body, RunStep):
        return stored.body
    return read_stored(_text_of(stored.body), _step_adapter(), f"The step {stored.number} of the run")


def read_snapshot(body: Body) -> Snapshot:
    """Read the body of a record: from untrusted text, or the object itself from a store in memory.

    Raises:
        StoredStateError: when the text is not a snapshot, or a newer program has saved it.
    """
    if isinstance(body, Snapshot):
        return body
    return read_stored(_text_of(body), _snapshot_adapter(), "The state of the run")


class LogSize(NamedTuple):
    """Number of characters of a snapshot, and of the steps since then."""

    snapshot: int
    steps: int


NO_LOG: Final = LogSize(0, 0)


@frozen
class RunState:
    """State of a run after a step.

    Attributes:
        tree: the checkpoints.
        spent: usage of the run so far.
        start: beginning of the run.
        size: size of what the state was read from, where the store keeps text.
    """

    tree: Checkpoint
    spent: Spent
    start: RunStart
    size: LogSize


def fold(name: str, snapshot: Snapshot | None, steps: Iterable[RunStep], size: LogSize = NO_LOG) -> RunState:
    """Return the state of a run after some steps.

    Args:
        name: name of the run.
        snapshot: state from which the steps continue; by default, the first of them starts the run.
        steps: steps, oldest first.
        size: size of both.

    Raises:
        StoredStateError: when nothing has the beginning of the run.
    """
    tree = Checkpoint(name) if snapshot is None else Checkpoint.restore(name, snapshot.tree)
    start = None if snapshot is None else snapshot.start
    spent = NOTHING_SPENT if snapshot is None else snapshot.spent
    for step in steps:
        spent, start = step.spent, step.start or start
        for operation in step.operations:
            tree.apply(operation)
    if start is None:
        raise StoredStateError(f"The state of the run of {name} cannot be read: its first step is missing.")
    return RunState(tree, spent, start, size)


def _fields(value: RunStep | Snapshot) -> dict[str, object]:
    return {each.name: getattr(value, each.name) for each in fields(value)} | {"format": STORED_FORMAT}


def _to_json(value: RunStep | Snapshot, subject: str) -> str:
    """Return a step or a snapshot as JSON.

    Raises:
        StoredStateError: when a value has no JSON form: the refusal of the value itself, which says what to do, if any.
    """
    refusals: list[StoredStateError] = []

    def encode(part: object) -> object:
        try:
            return _encode(part)
        except StoredStateError as refusal:
            refusals.append(refusal)
            raise

    with translate_json_errors(subject):
        try:
            return to_json(_fields(value), fallback=encode).decode()
        except PydanticSerializationError:
            if refusals:
                raise refusals[0] from None
            raise


def _encode(value: object) -> object:
    if isinstance(value, Live):
        return value.encode()
    raise TypeError(f"{type(value).__name__} has no JSON form")


def _text_of(body: Body) -> str:
    return body if isinstance(body, str) else body.to_json()


@cache
def _step_adapter() -> pydantic.TypeAdapter[RunStep]:
    return pydantic.TypeAdapter(RunStep)


@cache
def _snapshot_adapter() -> pydantic.TypeAdapter[Snapshot]:
    return pydantic.TypeAdapter(Snapshot)
