"""`tactician show`: a run in a store."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Collection
from pathlib import Path
from typing import Annotated, TypeVar

import typer
from pydantic_core import to_json, to_jsonable_python

from tactician.cli.console import Debug, ProcessId, StoreUrl, print_json
from tactician.cli.loading import load_agents
from tactician.cli.run_tables import print_comparison, print_run, print_steps
from tactician.cli.stores import require_store
from tactician.errors import ConfigurationError, StoredStateError
from tactician.llm import ModelCatalog
from tactician.llm.messages import messages_to_data
from tactician.platform import Platform, RunReader, RunView
from tactician.platform.views.steps import StepView
from tactician.process.state.state import ActionRun
from tactician.secrets import find_masking
from tactician.stores import open_store
from tactician.text import escape_controls

T = TypeVar("T")


def show(
    id: ProcessId,
    file: Annotated[Path | None, typer.Argument(help="The file with its agent, for --mermaid.")] = None,
    store: StoreUrl = None,
    steps: Annotated[
        bool, typer.Option("--steps", help="Show its steps; `fork` starts a new run from a step.")
    ] = False,
    other: Annotated[
        str | None, typer.Option("--compare", metavar="OTHER", help="Show it side by side with another run.")
    ] = None,
    as_mermaid: Annotated[bool, typer.Option("--mermaid", help="Print a Mermaid flowchart of it instead.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
    debug: Debug = False,
) -> None:
    """Show a run: its status, history, messages, objects and pending requests."""
    if as_mermaid:
        print(escape_controls(asyncio.run(_draw_flowchart(require_store(store), id, file))))
    elif other is not None:
        _show_comparison(id, other, store, as_json=as_json)
    elif steps:
        _show_steps(id, store, as_json=as_json)
    else:
        _show_run(id, store, as_json=as_json)


def _show_run(id: str, store: str | None, *, as_json: bool) -> None:
    run = _read(store, lambda reader: reader.get_readable(id))
    if as_json:
        _print_json(_describe(run))
    else:
        print_run(run)
    if run.problem is not None:
        raise StoredStateError(f"{run.problem} `tactician kill {id}` ends the run.")


def _show_steps(id: str, store: str | None, *, as_json: bool) -> None:
    listed = _read(store, lambda reader: reader.steps(id))
    if as_json:
        _print_json([_describe_step(step) for step in listed])
    else:
        print_steps(listed)


def _show_comparison(id: str, other: str, store: str | None, *, as_json: bool) -> None:
    comparison = _read(store, lambda reader: reader.compare(id, other))
    if not as_json:
        print_comparison(comparison)
        return
    runs = ((comparison.first, comparison.first_steps), (comparison.second, comparison.second_steps))
    common = [_describe_step(step) for step in comparison.common]
    described = [{**_describe(run), "further_steps": [_describe_step(step) for step in steps]} for run, steps in runs]
    _print_json({"common": common, "first": described[0], "second": described[1]})


def _read(store: str | None, read: Callable[[RunReader], Awaitable[T]]) -> T:
    """Return the result of a query to a store."""
    address = require_store(store)

    async def work() -> T:
        async with open_store(address) as documents:
            return await read(RunReader(documents))

    return asyncio.run(work())


async def _draw_flowchart(store: str, id: str, file: Path | None) -> str:
    if file is None:
        raise ConfigurationError("--mermaid needs the file with the agent: tactician show ID FILE --mermaid")
    async with open_store(store) as opened:
        platform = load_agents(file).register(Platform(models=ModelCatalog(), store=opened))
        return (await platform.process(id)).to_mermaid()


def print_summaries(store: str, statuses: Collection[str], limit: int) -> bool:
    """Print the runs in a store as JSON, and return whether there are more."""
    listed = _read(store, lambda reader: reader.list(statuses=statuses, limit=limit + 1, newest_first=True))
    _print_json([_summarize(run) for run in listed[:limit][::-1]])
    return len(listed) > limit


def _print_json(value: object) -> None:
    masked = find_masking().mask_json(to_jsonable_python(value))
    print_json(to_json(masked, indent=2).decode())


def _summarize(run: RunView) -> dict[str, object]:
    waits = [{"id": r.id, "kind": r.kind, "prompt": r.prompt, "deadline": r.deadline} for r in run.pending]
    return {
        "id": run.id,
        "kind": run.kind,
        "agent": run.name,
        "status": run.status,
        "was_interrupted": run.was_interrupted,
        "parent_id": run.parent_id,
        "forked_from": run.forked_from,
        "model": run.model,
        "started_at": run.started_at,
        "since": run.changed_at,
        "seconds": run.seconds,
        "tokens": run.usage.total_tokens,
        "cost": run.cost,
        "steps": run.steps,
        "waits_for": waits,
        "failure": run.failure,
        "output": run.output,
        "problem": run.problem,
    }


def _describe(run: RunView) -> dict[str, object]:
    details = {
        "goal": run.goal,
        "messages": messages_to_data(run.messages),
        "history": [_describe_action(action) for action in run.history],
        "conditions": run.conditions,
        "objects": run.objects,
    }
    return _summarize(run) | details


def _describe_action(action: ActionRun) -> dict[str, object]:
    return {
        "action": action.action,
        "at": action.started_at,
        "seconds": action.seconds,
        "tokens": action.usage.total_tokens,
        "cost": action.cost,
        "outputs": action.outputs,
        "error": action.error,
        "attempts": action.attempts,
    }


def _describe_step(step: StepView) -> dict[str, object]:
    return {
        "number": step.number,
        "kind": step.kind,
        "name": step.name,
        "detail": step.detail,
        "path": step.path,
        "at": step.at,
        "seconds": step.seconds,
        "tokens": step.usage.total_tokens,
        "cost": step.cost,
        "waits_for": [request.id for request in step.pending],
    }
