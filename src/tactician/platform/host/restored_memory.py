"""Memory of a host from before it started: use of models, and runs inside others, from events in the store."""

from __future__ import annotations

import asyncio
from typing import Final

from tactician.errors import StoreError, TacticianError
from tactician.platform.host.feed import EventFeed
from tactician.platform.host.meter import COUNTED, DAY, ModelMeter
from tactician.platform.platform import Platform

_MOST_RUNS: Final = 1000


async def restore_memory(platform: Platform, feed: EventFeed, meter: ModelMeter) -> None:
    """Read the events of the latest runs of the day before the host started, run by run beside other work.

    What they used is counted, and the runs inside them are found by their ids.
    """
    start, since = meter.since, meter.since - DAY
    try:
        runs = await platform.runs(limit=_MOST_RUNS, newest_first=True)
    except StoreError:
        return
    for run in runs:
        if run.parent_id is None and (run.changed_at or 0.0) >= since:
            await _read(platform, run.id, feed, meter, start)
            await asyncio.sleep(0)
    oldest = min((run.started_at or start for run in runs), default=start)
    meter.since = max(since, oldest) if len(runs) == _MOST_RUNS else since


async def _read(platform: Platform, run_id: str, feed: EventFeed, meter: ModelMeter, start: float) -> None:
    try:
        events = await platform.events(run_id)
    except TacticianError:
        return  # it was deleted meanwhile, or its record says what is wrong with it
    feed.add_roots(run_id, {recorded.run_id for recorded in events} - {run_id, ""})
    for recorded in events:
        is_counted = recorded.type in COUNTED and start - DAY <= recorded.time < start
        if is_counted and (event := recorded.event) is not None:
            meter.note(event)
