"""Board of the tasks of ensembles: their state, duration, tokens and costs while they run."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from rich.console import Console, RenderableType
from rich.live import Live
from rich.markup import escape
from rich.table import Table
from typing_extensions import override

from tactician.cli.formatting import format_usage, shorten
from tactician.clock import SYSTEM_CLOCK, Clock
from tactician.ensemble import TaskRestored, TaskResumed, TaskSkipped, TaskSuspended
from tactician.events import Event, OpenSpan, OpenSpans, SpanKind
from tactician.llm import UsageTally
from tactician.loop import TurnCompleted
from tactician.runs import ModelReturned

SHOWN: Final = (SpanKind.TASK, SpanKind.PHASE, SpanKind.REVIEW)
"""Kinds of spans that have a row."""
_MARKS: Final = {
    "running": "[cyan]▶[/cyan]",
    "waiting": "[yellow]?[/yellow]",
    "completed": "[green]✓[/green]",
    "skipped": "[dim]·[/dim]",
}
_FAILED: Final = "[red]✗[/red]"
_FEWEST_LINES: Final = 4


@dataclass(slots=True, eq=False, kw_only=True)
class TaskRow(OpenSpan):
    """Row of the board.

    Attributes:
        name: the id of the task, or the name of the phase or the review.
        depth: number of rows around it.
        started: when it began.
        seconds: how long it took; `None` while it goes on.
        role: the role of its agent.
        status: its state.
        detail: what it waits for, or why it failed or was skipped.
        tally: what it used.
    """

    name: str
    depth: int
    started: float
    seconds: float | None = None
    role: str = ""
    status: str = "running"
    detail: str = ""
    tally: UsageTally = field(default_factory=UsageTally)

    @property
    def mark(self) -> str:
        """Sign of its state."""
        return _MARKS.get(self.status, _FAILED)


class TaskBoard:
    """Listener that keeps a row for each task, phase and review.

    Args:
        clock: the time.
    """

    def __init__(self, clock: Clock = SYSTEM_CLOCK) -> None:
        self.rows: list[TaskRow] = []
        self._clock = clock
        self._open: OpenSpans[OpenSpan] = OpenSpans()

    def __call__(self, event: Event) -> TaskRow | None:
        """Take an event into account, and return the row that it changes, if it begins or ends one."""
        if event.opens is not None:
            return self._start(event, event.opens)
        if event.closes is not None:
            self._count(event)
            return self._end(event)
        return None

    def create_live(self, console: Console) -> Live:
        """Return what draws the board on a terminal again and again, once it is started; as a whole in the end."""
        return _LiveBoard(self, console)

    def draw(self, lines: int | None = None) -> Table:
        """Return the board as it is now.

        Args:
            lines: number of lines that there is room for. What has ended first is left out then.
        """
        table = Table.grid(padding=(0, 1))
        table.add_column(no_wrap=True)
        table.add_column(overflow="fold", ratio=1)
        table.add_column(overflow="ellipsis", no_wrap=True)
        table.add_column(justify="right", no_wrap=True)
        shown, left_out = self._select(lines)
        if left_out:
            table.add_row("", f"[dim]… {left_out} have ended before[/dim]")
        for row in shown:
            name = f"{'  ' * row.depth}{escape(shorten(row.name, 60))}"
            if row.detail:
                name += f"\n{'  ' * row.depth}[dim]{escape(shorten(row.detail))}[/dim]"
            table.add_row(row.mark, name, f"[dim]{escape(row.role)}[/dim]", f"[dim]{self.describe(row)}[/dim]")
        return table

    def _select(self, lines: int | None) -> tuple[list[TaskRow], int]:
        """Return the rows for which there is room, and how many others there are."""
        shown = list(self.rows)
        missing = 0 if lines is None else sum(1 + bool(row.detail) for row in shown) + 1 - lines
        for row in self.rows:
            if missing <= 0:
                break
            if row.seconds is not None and row.status != "waiting":
                shown.remove(row)
                missing -= 1 + bool(row.detail)
        return shown, len(self.rows) - len(shown)

    def describe(self, row: TaskRow) -> str:
        """Return the duration, the tokens and the cost of a row."""
        if row.status == "skipped":
            return "skipped"
        seconds = max(0.0, self._clock.time() - row.started) if row.seconds is None else row.seconds
        return format_usage(seconds, row.tally)

    def _start(self, event: Event, kind: str) -> TaskRow | None:
        if kind not in SHOWN:
            self._open.add(self._create(event, kind))
            return None
        row = self._find(event, kind) or self._add(event, kind)
        facts = event.describe_span()
        if event.closes is not None:
            self._open.remove(row)
            row.status, row.detail = facts.status or "completed", str(facts.facts.get("reason", ""))
            row.seconds = event.seconds if isinstance(event, TaskRestored) else 0.0
            return row
        row.id, row.status, row.detail, row.seconds, row.is_ended = event.id, "running", "", None, False
        self._open.add(row)
        return row

    def _end(self, event: Event) -> TaskRow | None:
        span = self._open.find_closed_by(event)
        if span is None:
            return None
        facts = event.describe_span()
        status = facts.status or ("completed" if facts.error is None else "failed")
        inner = "waiting" if status == "waiting" else "interrupted"
        for ended in self._open.remove(span):
            if isinstance(ended, TaskRow):
                ended.status = status if ended is span else inner
                ended.seconds = max(0.0, event.time - ended.started)
        if not isinstance(span, TaskRow):
            return None
        span.detail = event.prompts if isinstance(event, TaskSuspended) else facts.error or ""
        return span

    def _count(self, event: Event) -> None:
        """Count what a call of a model used for all rows around it."""
        if not isinstance(event, TurnCompleted | ModelReturned):
            return
        usage = event.response.usage if isinstance(event, TurnCompleted) else event.usage
        around = self._open.find_around(event)
        while around is not None:
            if isinstance(around, TaskRow):
                around.tally.add(usage)
            around = around.around

    def _find(self, event: Event, kind: str) -> TaskRow | None:
        """Return the row of a task that goes on."""
        is_again = isinstance(event, TaskResumed | TaskRestored | TaskSkipped)
        known = (row for row in self.rows if (row.run_id, row.kind, row.key) == (event.run_id, kind, event.span_key))
        return next((row for row in known if is_again or row.status in ("waiting", "interrupted")), None)

    def _add(self, event: Event, kind: str) -> TaskRow:
        around = self._open.find_around(event)
        facts = event.describe_span()
        row = TaskRow(
            id=event.id,
            run_id=event.run_id,
            kind=kind,
            key=event.span_key,
            around=around,
            name=facts.name or event.span_key,
            depth=_count_rows(around),
            started=event.time,
            role=str(facts.facts.get("role") or ""),
        )
        self.rows.append(row)
        return row

    def _create(self, event: Event, kind: str) -> OpenSpan:
        around = self._open.find_around(event)
        return OpenSpan(event.id, event.run_id, kind, event.span_key, around)


class _LiveBoard(Live):
    """Display of a board, as much of it as the terminal has room for while it goes on."""

    def __init__(self, board: TaskBoard, console: Console) -> None:
        self._board = board
        super().__init__(console=console, refresh_per_second=4, redirect_stdout=False)

    @override
    def get_renderable(self) -> RenderableType:
        return self._board.draw(max(_FEWEST_LINES, self.console.height - _FEWEST_LINES) if self.is_started else None)


def _count_rows(span: OpenSpan | None) -> int:
    number = 0
    while span is not None:
        number += isinstance(span, TaskRow)
        span = span.around
    return number
