"""Ctrl-C during a stored run: the terminal shows how to resume the run."""

from __future__ import annotations

from asyncio import CancelledError
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from tactician.cli.console import say
from tactician.platform import RunReader
from tactician.runs import RunStatus
from tactician.stores import DocumentStore

_CONTINUABLE = (RunStatus.RUNNING.value, RunStatus.WAITING.value)


@asynccontextmanager
async def say_how_to_resume(
    store: DocumentStore | None, name: str, again: str, run_id: str | None = None
) -> AsyncIterator[None]:
    """Print how to resume a run that is interrupted inside the `with` block.

    Args:
        store: store of the run; `None` when it is in none.
        name: name of what runs.
        again: arguments that name the file and the store again.
        run_id: id of the run; `None` for a new run, whose id is not known yet.
    """
    if store is None:
        yield
        return
    run_ids = set() if run_id is not None else await _find_continuable(store, name)
    try:
        yield
    except (CancelledError, KeyboardInterrupt):
        for continuable in sorted(await _find_continuable(store, name) - run_ids):
            if run_id in (None, continuable):
                say(f"Resume with: tactician resume {continuable} {again}")
        raise


async def _find_continuable(store: DocumentStore, name: str) -> set[str]:
    runs = await RunReader(store).list(statuses=_CONTINUABLE, names=[name])
    return {run.id for run in runs if run.was_interrupted or run.status == RunStatus.WAITING}
