"""Activities of the workflow of a run: its steps, with heartbeats, and its end."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from temporalio import activity
from temporalio.exceptions import ApplicationError

from tactician.integrations.step_report import StepReport
from tactician.integrations.stepper import Stepper
from tactician.integrations.temporal_workflow import KILL, STEP
from tactician.loggers import get_logger

_logger = get_logger(__name__)


class Activities:
    """Activities of the workflow of a run.

    Args:
        stepper: stepper that does the work.
        beat: seconds between two heartbeats.
    """

    def __init__(self, stepper: Stepper, beat: float) -> None:
        self._stepper = stepper
        self._beat = beat

    @activity.defn(name=STEP)
    async def step(self, run_id: str, now: float) -> StepReport:
        """Run a step; see `Stepper.step`."""
        async with _hide_details(run_id), self._run_heartbeats():
            return await self._stepper.step(run_id, now)

    @activity.defn(name=KILL)
    async def kill(self, run_id: str) -> StepReport:
        """End the run; see `Stepper.kill`."""
        async with _hide_details(run_id):
            return await self._stepper.kill(run_id)

    @asynccontextmanager
    async def _run_heartbeats(self) -> AsyncIterator[None]:
        task = asyncio.create_task(self._send_heartbeats())
        try:
            yield
        finally:
            task.cancel()

    async def _send_heartbeats(self) -> None:
        while True:
            activity.heartbeat()
            await asyncio.sleep(self._beat)


@asynccontextmanager
async def _hide_details(run_id: str) -> AsyncIterator[None]:
    """Raise errors without their text, which may hold data of the run, in the history of the workflow."""
    try:
        yield
    except Exception as error:
        kind = type(error).__name__
        _logger.warning("The run %s cannot continue here", run_id, exc_info=error)
        raise ApplicationError(f"{kind}; see the log of {activity.info().task_queue}'s worker", type=kind) from None
