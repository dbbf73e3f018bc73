"""Budgets of runs inside others: what was used of them is kept in checkpoints, and counts on wherever they continue."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Final

import pydantic

from tactician.runs.outcomes.budget import BudgetMeter, Spent
from tactician.runs.progress.checkpoint import Changes, Checkpoint, Data, Operation, SavedCheckpoint, revive

_KEY: Final = "@spent"
"""Key of the checkpoint inside the checkpoint of a run with a budget of its own."""


class SpentProgress:
    """Live state of a meter, as a checkpoint keeps it."""

    __slots__ = ("meter",)

    def __init__(self, meter: BudgetMeter) -> None:
        self.meter = meter

    def to_data(self) -> Data:
        """Return what was used so far."""
        return {"spent": self.meter.spent}

    def take_changes(self) -> Changes:
        """Return what was used so far: time passes with every step."""
        return Changes(self.to_data())


def keep_spent(meter: BudgetMeter, checkpoint: Checkpoint) -> None:
    """Let the checkpoint of a run keep what its meter counts, which continues from what the checkpoint has.

    A further meter of the same run continues from the count of the first.

    Raises:
        StoredStateError: when what the checkpoint has cannot be read.
    """
    part = checkpoint.at(_KEY)
    if isinstance(part.progress, SpentProgress):
        meter.restore(part.progress.meter.spent)
        return
    if "spent" in part.data:
        spent = revive(part.data["spent"], _spent_adapter().validate_python)
        meter.restore(spent)
        if checkpoint.keys:  # the outermost run has its usage from its last step
            meter.tally.restore(spent["usage"])
    part.attach(SpentProgress(meter))


def restore_spent(checkpoint: Checkpoint, spent: Spent) -> None:
    """Let the meter of the run of a checkpoint continue from what was used before."""
    checkpoint.at(_KEY).set(spent=spent)


def save_inside(checkpoint: Checkpoint) -> dict[str, SavedCheckpoint]:
    """Return what the runs inside a run have done, with live objects: not what the run itself has used."""
    return {key: saved for key, saved in checkpoint.save_children() if key != _KEY}


def take_spent(checkpoint: Checkpoint) -> Iterator[Operation]:
    """Yield what was used of the budget of a run, and of the budgets of all runs around it."""
    for tallies in checkpoint.find_upwards(_KEY):
        yield from tallies.take_changes()


@cache
def _spent_adapter() -> pydantic.TypeAdapter[Spent]:
    return pydantic.TypeAdapter(Spent)
