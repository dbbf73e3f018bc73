"""`tactician ps`: the runs in a store. The module imports no agents and nothing that runs them."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Sequence
from typing import Annotated

import typer
from rich.markup import escape
from rich.table import Column, Table

from tactician.cli.console import Debug, StoreUrl, err, out
from tactician.cli.formatting import format_time, format_usage, shorten
from tactician.cli.group import create_group
from tactician.cli.statuses import format_status
from tactician.cli.stores import require_store
from tactician.llm import UsageTally
from tactician.runs import RunRecord, RunStatus, RunStore
from tactician.stores import open_store, store_path

_OPEN = [status.value for status in RunStatus if not status.is_terminal]
_LINES, _OBJECTS, _MOST = 100, 1000, 1_000_000


def ps(
    store: StoreUrl = None,
    everything: Annotated[bool, typer.Option("--all", help="Those that have ended, too.")] = False,
    status: Annotated[
        list[RunStatus] | None, typer.Option("--status", help="Only those with the status; may be repeated.")
    ] = None,
    limit: Annotated[
        int | None, typer.Option(min=1, max=_MOST, help="Show so many: 100 by default, 1000 as JSON.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
    debug: Debug = False,
) -> None:
    """List the runs in a store, the oldest first."""
    statuses = [state.value for state in status] if status else [] if everything else _OPEN
    address, limit = require_store(store), limit or (_OBJECTS if as_json else _LINES)
    if as_json:
        from tactician.cli.inspection import print_summaries

        are_more = print_summaries(address, statuses, limit)
    else:
        are_more = _print_table(_find(address, statuses, limit + 1), limit)
    if are_more:
        err.print(f"There are more than these {limit}: `--limit` and `--status` choose others.", style="yellow")


def _print_table(records: Sequence[RunRecord], limit: int) -> bool:
    out.print(_tabulate(records[:limit]) if records else "There is none.")
    return len(records) > limit


def _find(address: str, statuses: Collection[str], limit: int) -> list[RunRecord]:
    path = store_path(address)
    records = None if path is None else RunStore.find_in_file(path, statuses=statuses, limit=limit)
    return asyncio.run(_find_in_store(address, statuses, limit)) if records is None else records


async def _find_in_store(address: str, statuses: Collection[str], limit: int) -> list[RunRecord]:
    async with open_store(address) as documents:
        return await RunStore(documents).find(statuses=statuses, limit=limit)


def _tabulate(records: Sequence[RunRecord]) -> Table:
    table = Table(Column("id", no_wrap=True), "agent", Column("status", no_wrap=True), "since", "used", "details")
    for record in records:
        header = record.header
        tally = UsageTally.of(header.spent["usage"])
        used = format_usage(header.spent["seconds"], tally) if tally.by_model else ""
        asked = "; ".join(request.prompt for request in header.pending)
        details = record.problem or asked or header.failure or header.output
        status = format_status(record.status.value, was_interrupted=record.was_interrupted)
        since = format_time(record.updated_at)
        table.add_row(escape(record.run_id), escape(record.name), status, since, used, escape(shorten(details)))
    return table


app = create_group()
app.command()(ps)
