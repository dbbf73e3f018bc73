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
from tactician.cli.loading import load_agents
from tactician.cli.outcomes import print_pending
from tactician.cli.stores import require_store
from tactician.cli.words import moment, short, spent
from tactician.errors import ConfigurationError
from tactician.llm import ModelCatalog
from tactician.platform import Platform, RunReader, RunView
from tactician.process import DEFAULT_BINDING, GAVE_NOTHING, ProcessStatus
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
    listed = asyncio.run(_list(require_store(store), [] if everything else _OPEN))
    if as_json:
        print(to_json([_facts(run) for run in listed], indent=2).decode())
        return
    table = Table(Column("id", no_wrap=True), "agent", Column("status", no_wrap=True), "since", "waits for")
    for run in listed:
        since = "" if run.changed_at is None else moment(run.changed_at)
        waits = run.problem or "; ".join(request.prompt for request in run.pending)
        table.add_row(run.id, escape(run.name), _status(run.status), since, escape(short(waits)))
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
        _print(asyncio.run(_get(address, id)))
    elif file is None:
        raise ConfigurationError("--mermaid needs the file with the agent: tactician show ID FILE --mermaid")
    else:
        print(asyncio.run(_flowchart(address, id, file)))


async def _list(address: str, statuses: list[str]) -> list[RunView]:
    async with open_store(address) as store:
        return await RunReader(store).list(statuses=statuses)


async def _get(address: str, id: str) -> RunView:
    async with open_store(address) as store:
        return await RunReader(store).get(id)


async def _flowchart(store: str, id: str, file: Path) -> str:
    async with open_store(store) as kept:
        platform = Platform(models=ModelCatalog(), store=kept).register(*load_agents(file).values())
        return (await platform.process(id)).to_mermaid()


def _facts(run: RunView) -> dict[str, object]:
    waits = [{"id": r.id, "kind": r.kind, "prompt": r.prompt, "deadline": r.deadline} for r in run.pending]
    facts = {"id": run.id, "kind": run.kind, "agent": run.name, "status": run.status}
    return {**facts, "parent_id": run.parent_id, "since": run.changed_at, "waits_for": waits, "problem": run.problem}


def _print(run: RunView) -> None:
    heading = f"[bold]{escape(run.name)}[/bold] {_status(run.status)}  [dim]{run.kind} {run.id}[/dim]"
    for line in (heading, *_summarize(run)):
        out.print(line, highlight=False, soft_wrap=True)
    if run.history:
        out.print(_history(run))
    if run.objects:
        out.print(_blackboard(run))
    print_pending(out, run.pending)


def _summarize(run: RunView) -> Iterator[str]:
    if run.goal is not None:
        yield f"reached [green]{escape(run.goal)}[/green]"
    if run.failure is not None:
        yield f"[red]{escape(run.failure)}[/red]"
    if run.tally.by_model:
        yield f"[dim]{spent(run.seconds, run.tally)}[/dim]"
    # What has run is in the history.
    if set_by_actions := [_told(*one) for one in run.conditions.items() if not one[0].startswith("ran ")]:
        yield escape(", ".join(set_by_actions))


def _told(condition: str, value: bool) -> str:
    return condition if condition == GAVE_NOTHING and value else f"{condition} is {'true' if value else 'false'}"


def _history(view: RunView) -> Table:
    table = Table("action", "at", "took", "gave")
    for run in view.history:
        tries = f" ({run.attempts} attempts)" if run.attempts > 1 else ""
        gave = ", ".join(run.outputs) if run.error is None else run.error
        colour = "green" if run.error is None else "red"
        took = f"{spent(run.seconds, run.tally)}{tries}"
        table.add_row(f"[{colour}]{escape(run.action)}[/{colour}]", moment(run.started_at), took, escape(gave))
    return table


def _blackboard(view: RunView) -> Table:
    table = Table("type", "name", "value")
    for one in view.objects:
        name = "" if one.binding == DEFAULT_BINDING else one.binding
        value = short(to_json(one.value).decode())
        row = escape(one.type.rpartition(".")[2]), escape(name), escape(value)
        table.add_row(*row, style="dim" if one.is_hidden else None)
    return table


def _status(status: str) -> str:
    colour = _COLOURS.get(status, "bold")
    return f"[{colour}]{escape(status)}[/{colour}]"
