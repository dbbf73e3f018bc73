"""What a Temporal worker does for a process: its steps, with heartbeats."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from temporalio import activity
from temporalio.exceptions import ApplicationError

from tactician.integrations.standing import Standing
from tactician.integrations.stepping import Stepper
from tactician.integrations.temporal_workflow import KILL, STEP

_logger = logging.getLogger(__name__)


class Activities:
    """The activities of the workflow of a process.

    Args:
        stepper: does the work.
        beat: seconds between two heartbeats.
    """

    def __init__(self, stepper: Stepper, beat: float) -> None:
        self._stepper = stepper
        self._beat = beat

    @activity.defn(name=STEP)
    async def step(self, process_id: str, now: float) -> Standing:
        """See `Stepper.step`."""
        async with _discreetly(process_id), self._beating():
            return await self._stepper.step(process_id, now)

    @activity.defn(name=KILL)
    async def kill(self, process_id: str) -> Standing:
        """See `Stepper.kill`."""
        async with _discreetly(process_id):
            return await self._stepper.kill(process_id)

    @asynccontextmanager
    async def _beating(self) -> AsyncIterator[None]:
        task = asyncio.create_task(self._beat_on())
        try:
            yield
        finally:
            task.cancel()

    async def _beat_on(self) -> None:
        while True:
            activity.heartbeat()
            await asyncio.sleep(self._beat)


@asynccontextmanager
async def _discreetly(process_id: str) -> AsyncIterator[None]:
    """Errors can hold objects of the process: the history of the workflow is given their kind alone."""
    try:
        yield
    except Exception as error:
        kind = type(error).__name__
        _logger.warning("The process %s cannot go on here", process_id, exc_info=error)
        raise ApplicationError(f"{kind}; see the log of {activity.info().task_queue}'s worker", type=kind) from None
