"""`tactician ps`: the runs in a store. The module imports no agents and nothing that runs them."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Sequence
from typing import Annotated, Final

import typer
from rich.table import Column, Table
from rich.text import Text

from tactician.cli.console import Debug, StoreUrl, err, out
from tactician.cli.formatting import format_time, format_usage, shorten
from tactician.cli.group import create_group
from tactician.cli.statuses import format_status
from tactician.cli.stores import require_store
from tactician.grammar import format_count
from tactician.llm.usage import UsageTally
from tactician.runs import RunStatus
from tactician.runs.progress.record import RunRecord
from tactician.runs.progress.store import RunStore
from tactician.stores import open_store
from tactician.stores.address import store_path

_OPEN = [status.value for status in RunStatus if not status.is_terminal]
_LINES, _OBJECTS, _MOST = 100, 1000, 1_000_000
_COLUMNS: Final = ("id", "agent", "status", "since", "used", "details")
_WHOLE: Final = frozenset({"id", "status", "since"})
_LEAST_WIDTHS: Final = {"used": 100, "since": 72, "details": 60, "agent": 36, "status": 30}
"""The width of a terminal from which a table has room for a column. An id is always shown, to be copied."""
_FRAMED: Final = 60
"""The width of a terminal from which a table has room for a frame."""


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
    """List the newest runs in a store, the oldest of them first."""
    statuses = [state.value for state in status] if status else [] if everything else _OPEN
    address, limit = require_store(store), limit or (_OBJECTS if as_json else _LINES)
    if as_json:
        from tactician.cli.inspection import print_summaries

        are_more = print_summaries(address, statuses, limit)
    else:
        are_more = _print_table(_find(address, statuses, limit + 1), limit, _describe_empty(statuses))
    if are_more:
        err.print(
            f"Shown: {format_count(limit, 'run')}. There are more: `--limit` and `--status` choose others.",
            style="yellow",
        )


def _print_table(records: Sequence[RunRecord], limit: int, empty: str) -> bool:
    out.print(_tabulate(records[:limit][::-1]) if records else empty)
    return len(records) > limit


def _describe_empty(statuses: Sequence[str]) -> str:
    if statuses == _OPEN:
        return "No open runs. `tactician ps --all` shows finished runs too."
    return f"No runs with the status {' or '.join(statuses)}." if statuses else "No runs in this store."


def _find(address: str, statuses: Collection[str], limit: int) -> list[RunRecord]:
    path = store_path(address)
    records = None if path is None else RunStore.find_in_file(path, statuses=statuses, limit=limit, newest_first=True)
    return asyncio.run(_find_in_store(address, statuses, limit)) if records is None else records


async def _find_in_store(address: str, statuses: Collection[str], limit: int) -> list[RunRecord]:
    async with open_store(address) as documents:
        return await RunStore(documents).find(statuses=statuses, limit=limit, newest_first=True)


def create_run_table() -> Table:
    """Create a table of runs in which ids, statuses and times are never cut."""
    columns = (Column(name, no_wrap=name in _WHOLE) for name in _list_columns())
    return Table(*columns) if out.width >= _FRAMED else Table(*columns, box=None, pad_edge=False)


def add_run(table: Table, **cells: str) -> None:
    """Add a run to a table, on a single line.

    Args:
        table: a table of `create_run_table`.
        **cells: a cell for each column, by name: text with markup for `status`, plain text for the others.
    """
    table.add_row(*(_format_cell(name, cells[name]) for name in _list_columns()))


def _list_columns() -> list[str]:
    return [name for name in _COLUMNS if out.width >= _LEAST_WIDTHS.get(name, 0)]


def _format_cell(name: str, cell: str) -> Text | str:
    return cell if name == "status" else Text(cell, no_wrap=True, overflow="ellipsis")


def _tabulate(records: Sequence[RunRecord]) -> Table:
    table = create_run_table()
    for record in records:
        header = record.header
        tally = UsageTally.of(header.spent["usage"])
        asked = "; ".join(request.prompt for request in header.pending)
        add_run(
            table,
            id=record.run_id,
            agent=record.name,
            status=format_status(record.status.value, was_interrupted=record.was_interrupted),
            since=format_time(record.updated_at),
            used=format_usage(header.spent["seconds"], tally) if tally.by_model else "",
            details=shorten(record.problem or asked or header.failure or header.output),
        )
    return table


app = create_group()
app.command()(ps)
