"""`tactician worker`."""

from __future__ import annotations

import asyncio
import logging
import signal
from collections.abc import Callable
from datetime import timedelta
from functools import partial
from types import FrameType
from typing import Annotated

import typer
from rich.markup import escape

from tactician.cli.blueprint_files import Allow, BlueprintAccess, Modules, Root
from tactician.cli.console import Debug, File, ModelName, PersonalityName, StoreUrl, err
from tactician.cli.durations import parse_duration
from tactician.cli.loading import load_agents
from tactician.cli.personalities import find_personality
from tactician.cli.progress import ProgressView
from tactician.cli.run_command import create_platform, open_catalog
from tactician.cli.stores import require_store
from tactician.loggers import mask_program_logs
from tactician.platform import Platform, Worker
from tactician.stores import DocumentStore, open_store


def worker(
    file: File,
    store: StoreUrl = None,
    name: Annotated[str | None, typer.Option("--name", help="Its name in the store.")] = None,
    parallel: Annotated[int, typer.Option("--parallel", min=1, help="How many runs it continues at once.")] = 1,
    retention: Annotated[
        timedelta | None,
        typer.Option("--retention", parser=parse_duration, metavar="AGE", help="Delete runs that ended so long ago."),
    ] = None,
    model: ModelName = None,
    voice: PersonalityName = None,
    allow: Allow = None,
    modules: Modules = None,
    root: Root = None,
    debug: Debug = False,
) -> None:
    """Continue the runs in a store that can continue. Ctrl-C finishes running work, a second Ctrl-C interrupts it."""
    agents = load_agents(file, BlueprintAccess.of(allow, modules, root))
    view = ProgressView(err, voice=find_personality(voice), shows_ids=True)
    logger = logging.getLogger("tactician.platform.worker")
    logger.addHandler(_Lines(debug))
    mask_program_logs()
    if debug:
        logger.setLevel(logging.DEBUG)
    make = partial(create_platform, agents, view, models=open_catalog(model), retention=retention)
    asyncio.run(_work(make, require_store(store), name, parallel))


async def _work(make: Callable[[DocumentStore], Platform], store: str, name: str | None, parallel: int) -> None:
    async with open_store(store) as opened:
        platform = make(opened)
        await _run_until_interrupted(platform, Worker(platform, name=name, max_parallel=parallel))


async def _run_until_interrupted(platform: Platform, works: Worker) -> None:
    stop, loop = asyncio.Event(), asyncio.get_running_loop()
    task = asyncio.create_task(works.run(stop))

    def interrupt() -> None:
        if stop.is_set():
            task.cancel()
            return
        err.print("finishing what runs; Ctrl-C again interrupts it", style="yellow")
        stop.set()

    def handle_signal(number: int, frame: FrameType | None) -> None:
        loop.call_soon_threadsafe(interrupt)

    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, handle_signal)
    err.print(f"{escape(works.name)} works for {escape(', '.join(platform.agents))}", highlight=False)
    try:
        await task
    except asyncio.CancelledError:
        raise KeyboardInterrupt from None


class _Lines(logging.Handler):
    """Log handler of a worker that prints a line for each record, with the traceback on request."""

    def __init__(self, debug: bool) -> None:
        super().__init__(logging.WARNING)
        self._debug = debug

    def emit(self, record: logging.LogRecord) -> None:
        """Print a record."""
        err.print(f"[red]{escape(record.getMessage())}[/red]", highlight=False, soft_wrap=True)
        traceback = logging.Formatter().formatException(record.exc_info) if record.exc_info else record.exc_text
        if self._debug and traceback:
            err.print(traceback, markup=False, highlight=False)
