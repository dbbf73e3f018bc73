"""Tables of runs and steps, and comparison of two runs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import zip_longest
from typing import Final

from pydantic_core import to_json
from rich.markup import escape
from rich.table import Column, Table

from tactician.cli.console import out
from tactician.cli.formatting import format_time, format_usage, shorten
from tactician.cli.outcomes import print_pending
from tactician.cli.statuses import format_status
from tactician.grammar import format_count
from tactician.llm import AssistantMessage, Message
from tactician.llm.messages import join_text
from tactician.platform import RunView
from tactician.platform.views.steps import RunComparison, StepView
from tactician.process.board.blackboard import GAVE_NOTHING
from tactician.process.objects import DEFAULT_BINDING
from tactician.secrets import find_masking, mask_secrets
from tactician.text import escape_controls

_LONG_TEXT: Final = 300
_BEGINNINGS: Final = frozenset({"start", "resume", "fork"})


def print_run(run: RunView) -> None:
    """Print all details of a run."""
    heading = f"[bold]{escape(run.name)}[/bold] {_format_status(run)}  [dim]{run.kind} {escape(run.id)}[/dim]"
    for line in (heading, *_summarize(run)):
        out.print(line, highlight=False, soft_wrap=True)
    if run.history:
        out.print(_tabulate_history(run))
    print_objects(run)
    if run.messages:
        out.print(_tabulate_messages(run.messages))
    print_pending(out, run.pending)


def print_objects(run: RunView) -> None:
    """Print the blackboard of a run, if it has any objects."""
    if run.objects:
        out.print(_tabulate_objects(run))


def print_steps(steps: Iterable[StepView]) -> None:
    """Print the steps of a run, with the usage up to each."""
    table = Table(Column("step", justify="right"), "what", "result", "at", "so far")
    for step in steps:
        used = format_usage(step.seconds, step.tally)
        table.add_row(str(step.number), _name_step(step), escape(shorten(step.detail)), format_time(step.at), used)
    out.print(table)


def print_comparison(comparison: RunComparison) -> None:
    """Print two runs side by side: status, common steps, and different steps."""
    first, second, common = comparison.first, comparison.second, len(comparison.common)
    out.print(_tabulate_facts(first, second))
    both = f"The first {format_count(common, 'step')} are the same." if common else "They have no steps in common."
    out.print(both, highlight=False)
    if comparison.first_steps or comparison.second_steps:
        columns = (column for run in (first, second) for column in (Column("step", justify="right"), escape(run.id)))
        table = Table(*columns)
        for pair in zip_longest(_list_work(comparison.first_steps), _list_work(comparison.second_steps)):
            table.add_row(*(cell for step in pair for cell in _format_step(step)))
        out.print(table)


def _format_status(run: RunView) -> str:
    return format_status(run.status, was_interrupted=run.was_interrupted)


def _summarize(run: RunView) -> Iterator[str]:
    if run.forked_from is not None:
        yield f"[dim]{escape(_describe_fork(run))}[/dim]"
    if run.goal is not None:
        yield f"reached [green]{escape(run.goal)}[/green]"
    if run.failure is not None:
        yield f"[red]{escape(mask_secrets(run.failure))}[/red]"
    if run.output:
        yield f"→ {escape(mask_secrets(run.output))}"
    if run.problem is None:
        yield f"[dim]{format_usage(run.seconds, run.tally)} · {format_count(run.steps, 'step')}[/dim]"
    # What has run is in the history.
    if set_by_actions := [
        _format_condition(*condition) for condition in run.conditions.items() if not condition[0].startswith("ran ")
    ]:
        yield escape(", ".join(set_by_actions))


def _describe_fork(run: RunView) -> str:
    if run.forked_from is None:
        return ""
    run_id, step = run.forked_from
    return f"forked from {run_id} after step {step}{'' if run.model is None else f', with {run.model}'}"


def _format_condition(condition: str, value: bool) -> str:
    return condition if condition == GAVE_NOTHING and value else f"{condition} is {'true' if value else 'false'}"


def _tabulate_history(view: RunView) -> Table:
    table = Table("action", "at", "took", "gave")
    for run in view.history:
        tries = f" ({format_count(run.attempts, 'attempt')})" if run.attempts > 1 else ""
        gave = ", ".join(run.outputs) if run.error is None else escape_controls(mask_secrets(run.error))
        colour = "green" if run.error is None else "red"
        took = f"{format_usage(run.seconds, run.tally)}{tries}"
        table.add_row(f"[{colour}]{escape(run.action)}[/{colour}]", format_time(run.started_at), took, escape(gave))
    return table


def _tabulate_objects(view: RunView) -> Table:
    table = Table("type", "name", "value")
    for item in view.objects:
        name = "" if item.binding == DEFAULT_BINDING else item.binding
        value = shorten(to_json(find_masking().mask_json(item.value)).decode())
        row = escape(item.type.rpartition(".")[2]), escape(name), escape(value)
        table.add_row(*row, style="dim" if item.is_hidden else None)
    return table


def _tabulate_messages(messages: Sequence[Message]) -> Table:
    table = Table("role", "message")
    for message in messages:
        table.add_row(message.role, escape(shorten(_format_message(message), _LONG_TEXT)))
    return table


def _format_message(message: Message) -> str:
    calls = message.tool_calls if isinstance(message, AssistantMessage) else ()
    return " ".join(filter(None, (join_text([message]), *(f"{call.name}({call.arguments})" for call in calls))))


def _tabulate_facts(first: RunView, second: RunView) -> Table:
    table = Table("", *(escape(f"{run.name} {run.id}") for run in (first, second)))
    table.add_row("status", _format_status(first), _format_status(second))
    facts = list(zip(_list_facts(first), _list_facts(second), strict=True))
    for (name, value), (_, other) in facts:
        if value or other:
            table.add_row(name, escape(value), escape(other), style="bold" if value != other else None)
    return table


def _list_facts(run: RunView) -> list[tuple[str, str]]:
    cost = run.cost
    return [
        ("fork", _describe_fork(run)),
        ("output", shorten(run.output, _LONG_TEXT)),
        ("failure", shorten(run.failure or "", _LONG_TEXT)),
        ("steps", str(run.steps)),
        ("tokens", str(run.usage.total_tokens)),
        ("cost", "unknown" if cost is None else f"${cost:.4f}"),
        ("seconds", f"{run.seconds:.3f}"),
    ]


def _list_work(steps: Iterable[StepView]) -> list[StepView]:
    """Return the steps that did work, so that equal work of both runs stands side by side."""
    return [step for step in steps if step.kind not in _BEGINNINGS]


def _format_step(step: StepView | None) -> tuple[str, str]:
    if step is None:
        return "", ""
    return str(step.number), f"{_name_step(step)}  [dim]{escape(shorten(step.detail))}[/dim]"


def _name_step(step: StepView) -> str:
    """Return the kind and the name of a step, after the names of nested runs."""
    inside = "/".join(step.path[1:])
    return escape(" ".join(filter(None, (inside and f"{inside}:", step.kind, step.name))))
