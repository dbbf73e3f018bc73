"""Waiting for the lease of a worker that was killed, so that nobody has to repeat the command."""

from __future__ import annotations

from typing import Final

from tactician.cli.console import err
from tactician.platform import Platform, RunView

_LOOK_EVERY: Final = 1.0


async def wait_for_lease(platform: Platform, run: RunView) -> None:
    """Wait until the lease on a run ends. A worker that lives renews its lease: then the wait is over at once.

    Args:
        platform: the platform whose store has the run.
        run: the run.
    """
    if (ends_at := run.lease_ends_at) is None:
        return
    clock = platform.services.clock
    seconds = max(0.0, ends_at - clock.time())
    err.print(
        f"The lease of a worker on this run ends in {seconds:.0f} s. If the worker was killed, the run continues then.",
        highlight=False,
    )
    while (current := (await platform.view_run(run.id)).lease_ends_at) is not None and current <= ends_at:
        await clock.sleep(_LOOK_EVERY)
