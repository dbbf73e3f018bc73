"""Outcomes of runs and processes, and how to continue them."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from typing import Final, TypeAlias

import typer
from rich.console import Console
from rich.markup import escape

from tactician.agents.planned.planned_agent import raise_unless_completed
from tactician.agents.planned.specs import planned_spec
from tactician.cli.asker import Asker
from tactician.cli.console import err, out, say
from tactician.cli.fields import Field, list_fields
from tactician.cli.formatting import format_time
from tactician.errors import ResponseError
from tactician.platform import Platform
from tactician.process import AgentProcess, ProcessOptions
from tactician.runs import PendingRequest, Runnable, RunResult, RunStatus
from tactician.runs.outcomes.suspension import PendingKind, Response
from tactician.tools.tool import as_text

Outcome: TypeAlias = AgentProcess | RunResult[object]
Watch: TypeAlias = Callable[[], AbstractContextManager[None]]
WAITING: Final = 3
"""The exit code of a run that waits for somebody, or is paused."""
_EXAMPLES: Mapping[PendingKind, str] = {
    "approval": "--approve",
    "confirmation": "yes",
    "form": "'JSON or text'",
    "tool": "'JSON or text'",
    "reply": "'JSON or text'",
}


async def start_run(
    platform: Platform, agent: Runnable, input: str | Mapping[str, str], options: ProcessOptions | None = None
) -> Outcome:
    """Run the agent with the input; the options are for planned agents."""
    if planned_spec(agent) is None:
        return await platform.run(agent, input)
    return await platform.start(await platform.assemble_for(agent, input), input, options=options)


async def respond_to(platform: Platform, outcome: Outcome, request: PendingRequest, response: Response) -> Outcome:
    """Answer a request."""
    return await platform.respond(find_run_id(outcome), request.id, response)


async def answer_requests(
    platform: Platform, outcome: Outcome, asker: Asker | None, watch: Watch = nullcontext
) -> Outcome:
    """Let the person at the terminal, if any, answer all requests.

    Args:
        platform: the platform.
        outcome: the outcome so far.
        asker: who asks the person.
        watch: what shows the progress while the run continues.
    """
    while asker is not None and (request := _find_open_request(outcome.pending)) is not None:
        try:
            response = asker.answer(request)
            with watch():
                outcome = await respond_to(platform, outcome, request, response)
        except ResponseError as error:
            asker.complain(str(error))
        except EOFError:
            err.print()
            break
    return outcome


def _find_open_request(pending: tuple[PendingRequest, ...]) -> PendingRequest | None:
    """Return the first request that needs no role, or `None`."""
    return next((request for request in pending if request.required_role is None), None)


def print_outcome(outcome: Outcome, again: str | None) -> None:
    """Print the result, or the pending requests and how to answer them; `again` names the file and store.

    Raises:
        Exit: with code 3, when it waits or is paused.
        ProcessError: when it has ended without reaching its goal.
    """
    if outcome.pending:
        print_pending(err, outcome.pending)
        say(_describe_how_to_answer(outcome, again))
        raise typer.Exit(WAITING)
    if outcome.status is RunStatus.PAUSED:
        how = "" if again is None else f" Resume with: tactician resume {find_run_id(outcome)} {again}"
        say(f"It is paused.{how}")
        raise typer.Exit(WAITING)
    print_result(outcome)


def print_result(outcome: Outcome) -> None:
    """Print the result of what has ended.

    Raises:
        ProcessError: when it has ended without reaching its goal.
    """
    if isinstance(outcome, AgentProcess):
        raise_unless_completed(outcome)
    result = outcome.result if isinstance(outcome, AgentProcess) else outcome.output
    out.print(format_output(result), markup=False, highlight=False, soft_wrap=True)


def print_pending(console: Console, pending: tuple[PendingRequest, ...]) -> None:
    """Print the pending requests, with the fields of each form."""
    for request in (each.mask() for each in pending):
        lines = [
            f"[yellow]?[/yellow] [bold]{escape(request.prompt)}[/bold]  [dim]{request.kind} {escape(request.id)}[/dim]"
        ]
        if request.deadline is not None:
            default = escape(as_text(request.default))
            lines.append(f"  [dim]until {format_time(request.deadline)}; without an answer: {default}[/dim]")
        if request.required_role is not None:
            lines.append(f"  [dim]needs the role {escape(request.required_role)}[/dim]")
        if request.kind == "form":
            lines += [_format_field(field) for field in list_fields(request.schema or {})]
        console.print("\n".join(lines), highlight=False, soft_wrap=True)


def format_output(output: object) -> str:
    """Return an object as text: its own text if any, else JSON."""
    return str(output) if type(output).__str__ is not object.__str__ and not _is_plain(output) else as_text(output)


def _is_plain(output: object) -> bool:
    """Return whether `str` would return a Python literal instead of prose."""
    from pydantic import BaseModel

    return type(output).__str__ in (BaseModel.__str__, dict.__str__, list.__str__)


def _format_field(field: Field) -> str:
    optional = "optional" if field.may_be_left_out else ""
    facts = (field.widget, optional, ", ".join(map(str, field.choices)), field.help)
    return f"  {escape(field.name)}  [dim]{escape('  '.join(filter(None, facts)))}[/dim]"


def find_run_id(outcome: Outcome) -> str:
    """Return the id of a run."""
    return outcome.id if isinstance(outcome, AgentProcess) else outcome.run_id


def _describe_how_to_answer(outcome: Outcome, again: str | None) -> str:
    if again is None:
        return (
            "This run waits for an answer, and no store keeps it. "
            "Run it in a terminal to answer at once, or with --store FILE to answer later."
        )
    first = outcome.pending[0]
    request = f" {shlex.quote(first.id)}" if len(outcome.pending) > 1 else ""
    role = "" if first.required_role is None else f" --role {shlex.quote(first.required_role)}"
    return f"Answer with: tactician respond {find_run_id(outcome)}{request} {_EXAMPLES[first.kind]} {again}{role}"
