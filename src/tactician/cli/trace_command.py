"""`tactician trace`: all that a run did, as a tree, a web page or JSON."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Annotated, Final

import typer
from rich.markup import escape
from rich.tree import Tree

from tactician.cli.console import Debug, StoreUrl, out
from tactician.cli.formatting import shorten
from tactician.cli.stores import require_store
from tactician.errors import ConfigurationError, RunNotFoundError
from tactician.events import read_event_log
from tactician.grammar import format_count
from tactician.platform import RunReader
from tactician.stores import open_store
from tactician.trace import Trace
from tactician.trace.node import TraceNode

_MOST_LINES: Final = 500


def trace(
    id: Annotated[str, typer.Argument(metavar="RUN", help="The id of a run: see `tactician ps --all`.")],
    store: StoreUrl = None,
    html: Annotated[
        Path | None, typer.Option("--html", metavar="FILE", help="Write a web page, which needs no network.")
    ] = None,
    json: Annotated[Path | None, typer.Option("--json", metavar="FILE", help="Write JSON.")] = None,
    events: Annotated[
        Path | None, typer.Option("--events", metavar="LOG", help="Read an event log instead of the store.")
    ] = None,
    debug: Debug = False,
) -> None:
    """Show all that a run did: plans, actions, prompts, tool calls, costs and errors.

    The web page is a single file to pass on: keys and passwords in it are masked.
    """
    read = asyncio.run(_read_stored(id, require_store(store))) if events is None else _read_logged(id, events)
    if html is not None:
        read.to_html(html)
    if json is not None:
        read.to_json(json)
    if html is None and json is None:
        out.print(_draw(read))


async def _read_stored(id: str, store: str) -> Trace:
    async with open_store(store) as documents:
        return await RunReader(documents).trace(id)


def _read_logged(id: str, log: Path) -> Trace:
    try:
        read = Trace.from_events(read_event_log(log), id)
    except OSError as error:
        raise ConfigurationError(f"{log} cannot be read: {error.strerror}") from error
    if not read:
        raise RunNotFoundError(f"{log} has no run with the id {id!r}.")
    return read


def _draw(read: Trace) -> Tree:
    """Return the tree of the nodes, the first of a long trace."""
    top = Tree("", hide_root=True)
    waiting: list[tuple[TraceNode, Tree]] = [(node, top) for node in reversed(read.roots)]
    lines = 0
    while waiting and lines < _MOST_LINES:
        node, parent_branch = waiting.pop()
        branch = parent_branch.add(_format(node))
        waiting += [(child, branch) for child in reversed(node.children)]
        lines += 1
    if waiting:
        top.add("[dim]… --html has all of it[/dim]")
    return top


def _format(node: TraceNode) -> str:
    colour = {"completed": "green", "failed": "red", "waiting": "yellow"}.get(node.status, "cyan")
    use = node.total_use
    facts = [] if node.status == "completed" else [node.status]
    facts += [] if node.seconds is None else [f"{node.seconds:.3f} s"]
    facts += [format_count(use.total_tokens, "token")] if use.total_tokens else []
    facts += [] if use.cost is None else [f"${use.cost:.4f}"]
    error = f"  [red]{escape(shorten(node.error))}[/red]" if node.error else ""
    name = f"[dim]{escape(node.kind)}[/dim] [{colour}]{escape(node.name)}[/{colour}]"
    return f"{name}  [dim]{escape(' · '.join(facts))}[/dim]{error}"
