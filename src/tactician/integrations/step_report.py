"""Report of a run after a step, for a workflow engine. This module imports no other module of the package."""

from __future__ import annotations

from dataclasses import field

from tactician.frozen import frozen


@frozen
class StepReport:
    """Report of a run, with names and times only: everything else stays in the store.

    Attributes:
        status: status of the run, such as `"waiting"`.
        has_ended: true when a further step is of no use.
        pending: ids of the requests that nobody has answered; empty when the run can continue.
        refused: ids of those whose last answer was not valid.
        wakes_at: time at which the first deadline passes, theirs or the run's, in seconds since the epoch.
        delay: seconds until the next step.
    """

    status: str
    has_ended: bool = False
    pending: list[str] = field(default_factory=list)
    refused: list[str] = field(default_factory=list)
    wakes_at: float | None = None
    delay: float = 0.0
