"""Board of the tasks of ensembles: their state, duration, tokens and costs while they run."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from rich.console import Console, RenderableType
from rich.live import Live
from typing_extensions import override

from tactician.cli.board_drawing import BoardDrawing, BoardLine
from tactician.cli.formatting import format_usage
from tactician.clock import SYSTEM_CLOCK, Clock
from tactician.ensemble import TaskRestored, TaskResumed, TaskSuspended
from tactician.events import Event
from tactician.events.span_facts import SpanFacts, SpanKind
from tactician.events.spans import OpenSpan, OpenSpans
from tactician.llm.usage import UsageTally
from tactician.loop import TurnCompleted
from tactician.runs import ModelReturned

SHOWN: Final = (SpanKind.TASK, SpanKind.PHASE, SpanKind.REVIEW)
"""Kinds of spans that have a row."""
_MARKS: Final = {
    "running": "[cyan]▶[/cyan]",
    "waiting": "[yellow]?[/yellow]",
    "completed": "[green]✓[/green]",
    "skipped": "[dim]·[/dim]",
    "retry": "[yellow]↻[/yellow]",
    "retry_predecessor": "[yellow]↻[/yellow]",
}
_DECISIONS: Final = {
    "edit": "edited",
    "exit_early": "ends here",
    "reject": "rejected",
    "retry": "once more",
    "retry_predecessor": "the phase before once more",
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

    def draw(self, lines: int | None = None) -> BoardDrawing:
        """Return the board as it is now.

        Args:
            lines: number of lines that there is room for. What has ended first is left out then, and after that what
                has begun last.
        """
        shown = self._leave_out_ended(lines)
        ended = len(self.rows) - len(shown)
        visible = shown if lines is None else _take(shown, lines - bool(ended))
        more = len(shown) - len(visible)
        return BoardDrawing(
            [BoardLine(row.mark, row.depth, row.name, row.role, self.describe(row), row.detail) for row in visible],
            f"… {ended} have ended before" if ended else "",
            f"… and {more} more" if more else "",
        )

    def _leave_out_ended(self, lines: int | None) -> list[TaskRow]:
        """Return the rows without as many that have ended as there is no room for."""
        missing = 0 if lines is None else sum(map(_count_lines, self.rows)) + 1 - lines
        shown = []
        for row in self.rows:
            if missing > 0 and row.seconds is not None and row.status != "waiting":
                missing -= _count_lines(row)
            else:
                shown.append(row)
        return shown

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
            row.status = facts.status or "completed"
            row.detail = str(facts.facts.get("reason", "")) or _describe_decision(facts)
            row.seconds = event.seconds if isinstance(event, TaskRestored) else max(0.0, event.time - row.started)
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
        span.detail = event.prompts if isinstance(event, TaskSuspended) else facts.error or _describe_decision(facts)
        return span

    def _count(self, event: Event) -> None:
        """Count what a call of a model used for all rows around it."""
        if not isinstance(event, TurnCompleted | ModelReturned):
            return
        usage = event.response.usage if isinstance(event, TurnCompleted) else event.usage
        open_span = self._open.find_around(event)
        while open_span is not None:
            if isinstance(open_span, TaskRow):
                open_span.tally.add(usage)
            open_span = open_span.parent

    def _find(self, event: Event, kind: str) -> TaskRow | None:
        """Return the last row of a task that goes on, or of what the event ends."""
        is_again = event.closes is not None or isinstance(event, TaskResumed)
        place = (event.run_id, kind, event.span_key)
        matching_rows = (row for row in reversed(self.rows) if (row.run_id, row.kind, row.key) == place)
        return next((row for row in matching_rows if is_again or row.status in ("waiting", "interrupted")), None)

    def _add(self, event: Event, kind: str) -> TaskRow:
        open_span = self._open.find_around(event)
        facts = event.describe_span()
        row = TaskRow(
            id=event.id,
            run_id=event.run_id,
            kind=kind,
            key=event.span_key,
            parent=open_span,
            name=facts.name or event.span_key,
            depth=_count_rows(open_span),
            started=event.time,
            role=str(facts.facts.get("role") or ""),
        )
        self.rows.append(row)
        return row

    def _create(self, event: Event, kind: str) -> OpenSpan:
        open_span = self._open.find_around(event)
        return OpenSpan(event.id, event.run_id, kind, event.span_key, open_span)


class _LiveBoard(Live):
    """Display of a board, as much of it as the terminal has room for while it goes on."""

    def __init__(self, board: TaskBoard, console: Console) -> None:
        self._board = board
        super().__init__(console=console, refresh_per_second=4, redirect_stdout=False)

    @override
    def get_renderable(self) -> RenderableType:
        return self._board.draw(max(_FEWEST_LINES, self.console.height - _FEWEST_LINES) if self.is_started else None)


def _describe_decision(facts: SpanFacts) -> str:
    """Return what a review decided, other than that all goes on, and why; empty for what is no review."""
    decision = str(facts.facts.get("decision") or "")
    if decision in ("", "approve", "continue"):
        return ""
    feedback = str(facts.content.get("feedback") or "")
    return f"{_DECISIONS.get(decision, decision)}{': ' if feedback else ''}{feedback}"


def _count_lines(row: TaskRow) -> int:
    return 1 + bool(row.detail)


def _take(rows: list[TaskRow], lines: int) -> list[TaskRow]:
    """Return the first rows, of many only as many as leave a line to say so."""
    if sum(map(_count_lines, rows)) <= lines:
        return rows
    taken, left = [], lines - 1
    for row in rows:
        if (left := left - _count_lines(row)) < 0:
            break
        taken.append(row)
    return taken


def _count_rows(span: OpenSpan | None) -> int:
    number = 0
    while span is not None:
        number += isinstance(span, TaskRow)
        span = span.parent
    return number
