"""`tactician ps` and `tactician show`: what a store holds."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import typer
from pydantic_core import to_json
from rich.markup import escape
from rich.table import Column, Table

from tactician.cli.console import Debug, ProcessId, StoreUrl, out
from tactician.cli.kept import Kept, found, kept_in
from tactician.cli.loading import load_agents
from tactician.cli.outcomes import print_pending
from tactician.cli.stores import require_store
from tactician.cli.words import moment, short, spent
from tactician.errors import ConfigurationError
from tactician.llm import ModelCatalog, Usage, UsageTally
from tactician.platform import Platform
from tactician.process import DEFAULT_BINDING, GAVE_NOTHING, ProcessStatus, Snapshot
from tactician.runs import RunStore
from tactician.stores import open_store

_OPEN = [status.value for status in ProcessStatus if not status.is_terminal]
_COLOURS = {"completed": "green", "waiting": "yellow", "running": "cyan", "failed": "red", "stuck": "red"}


def ps(
    store: StoreUrl = None,
    everything: Annotated[bool, typer.Option("--all", help="Those that have ended, too.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
    debug: Debug = False,
) -> None:
    """List the processes and waiting runs in a store."""
    listed = asyncio.run(_listed(require_store(store), [] if everything else _OPEN))
    if as_json:
        print(to_json([_facts(one) for one in listed], indent=2).decode())
        return
    columns = Column("id", no_wrap=True), "agent", Column("status", no_wrap=True), "since", "waits for"
    table = Table(*columns)
    for one in listed:
        record, since = one.record, "" if one.since is None else moment(one.since)
        waits = one.problem or "; ".join(request.prompt for request in one.pending)
        table.add_row(record.run_id, escape(record.name), _status(record.status), since, escape(short(waits)))
    out.print(table if listed else "There is none.")


def show(
    id: ProcessId,
    file: Annotated[Path | None, typer.Argument(help="The file with its agent, for --mermaid.")] = None,
    store: StoreUrl = None,
    as_mermaid: Annotated[bool, typer.Option("--mermaid", help="Print a Mermaid flowchart of it instead.")] = False,
    debug: Debug = False,
) -> None:
    """Show a process: its status, what it has done and knows, and what it waits for."""
    address = require_store(store)
    if not as_mermaid:
        _print(asyncio.run(_one(address, id)))
    elif file is None:
        raise ConfigurationError("--mermaid needs the file with the agent: tactician show ID FILE --mermaid")
    else:
        print(asyncio.run(_flowchart(address, id, file)))


async def _listed(store: str, statuses: list[str]) -> list[Kept]:
    async with open_store(store) as kept:
        return [await kept_in(kept, record) for record in await RunStore(kept).find(statuses=statuses)]


async def _one(store: str, id: str) -> Kept:
    async with open_store(store) as kept:
        return await found(kept, id)


async def _flowchart(store: str, id: str, file: Path) -> str:
    async with open_store(store) as kept:
        platform = Platform(models=ModelCatalog(), store=kept).register(*load_agents(file).values())
        return (await platform.process(id)).to_mermaid()


def _facts(one: Kept) -> dict[str, object]:
    record = one.record
    waits = [{"id": r.id, "kind": r.kind, "prompt": r.prompt, "deadline": r.deadline} for r in one.pending]
    facts = {"id": record.run_id, "kind": record.kind, "agent": record.name, "status": record.status}
    return {**facts, "parent_id": record.parent_id, "since": one.since, "waits_for": waits, "problem": one.problem}


def _print(kept: Kept) -> None:
    record, snapshot = kept.record, kept.snapshot
    heading = f"[bold]{escape(record.name)}[/bold] {_status(record.status)}  [dim]{record.kind} {record.run_id}[/dim]"
    out.print(heading, highlight=False, soft_wrap=True)
    if snapshot is not None:
        for line in _summary(snapshot):
            out.print(line, highlight=False, soft_wrap=True)
        if snapshot["history"]:
            out.print(_history(snapshot))
        if snapshot["objects"]:
            out.print(_blackboard(snapshot))
    print_pending(out, kept.pending)


def _summary(snapshot: Snapshot) -> Iterator[str]:
    if snapshot["goal"] is not None:
        yield f"reached [green]{escape(snapshot['goal'])}[/green]"
    if snapshot["failure"] is not None:
        yield f"[red]{escape(snapshot['failure'])}[/red]"
    if snapshot["usage"]:
        yield f"[dim]{spent(snapshot['seconds'], _tally(snapshot['usage']))}[/dim]"
    # What has run is in the history.
    if told := [_told(*one) for one in snapshot["conditions"].items() if not one[0].startswith("ran ")]:
        yield escape(", ".join(told))


def _told(condition: str, value: bool) -> str:
    return condition if condition == GAVE_NOTHING and value else f"{condition} is {'true' if value else 'false'}"


def _history(snapshot: Snapshot) -> Table:
    table = Table("action", "at", "took", "gave")
    for run in snapshot["history"]:
        tries = f" ({run['attempts']} attempts)" if run["attempts"] > 1 else ""
        gave = ", ".join(run["outputs"]) if run["error"] is None else run["error"]
        colour = "green" if run["error"] is None else "red"
        took = f"{spent(run['seconds'], _tally(run['usage']))}{tries}"
        table.add_row(f"[{colour}]{escape(run['action'])}[/{colour}]", moment(run["started_at"]), took, escape(gave))
    return table


def _blackboard(snapshot: Snapshot) -> Table:
    table = Table("type", "name", "value")
    for one in snapshot["objects"]:
        name = "" if one["binding"] == DEFAULT_BINDING else one["binding"]
        style = "dim" if one["hidden"] else None
        value = short(to_json(one["value"]).decode())
        table.add_row(escape(one["type"].rpartition(".")[2]), escape(name), escape(value), style=style)
    return table


def _tally(usages: list[Usage]) -> UsageTally:
    tally = UsageTally()
    for usage in usages:
        tally.add(usage)
    return tally


def _status(status: str) -> str:
    colour = _COLOURS.get(status, "bold")
    return f"[{colour}]{escape(status)}[/{colour}]"
