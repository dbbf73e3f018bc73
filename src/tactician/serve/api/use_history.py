"""Use of models before the server started, from the events that runs in the store have kept."""

from __future__ import annotations

import asyncio
from typing import Final

from tactician.errors import StoreError, TacticianError
from tactician.platform import Platform
from tactician.serve.api.meter import COUNTED, DAY, ModelMeter

_MOST_RUNS: Final = 1000


async def restore_use(platform: Platform, meter: ModelMeter) -> None:
    """Count what the latest runs used in the day before the server started, run by run beside other work."""
    start, since = meter.since, meter.since - DAY
    try:
        runs = await platform.runs(limit=_MOST_RUNS, newest_first=True)
    except StoreError:
        return
    for run in runs:
        if run.parent_id is None and (run.changed_at or 0.0) >= since:
            await _count(platform, run.id, meter, since, start)
            await asyncio.sleep(0)
    oldest = min((run.started_at or start for run in runs), default=start)
    meter.since = max(since, oldest) if len(runs) == _MOST_RUNS else since


async def _count(platform: Platform, run_id: str, meter: ModelMeter, since: float, start: float) -> None:
    try:
        events = await platform.events(run_id)
    except TacticianError:
        return  # it was deleted meanwhile, or its record says what is wrong with it
    for recorded in events:
        is_counted = recorded.type in COUNTED and since <= recorded.time < start
        if is_counted and (event := recorded.event) is not None:
            meter.note(event)
