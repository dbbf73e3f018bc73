"""Progress of a run in the terminal."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

from rich.console import Console
from rich.live import Live
from rich.markup import escape
from rich.panel import Panel

from tactician.cli.drawing import build_plan_tree
from tactician.cli.formatting import format_change, format_usage, shorten
from tactician.cli.task_board import TaskBoard, TaskRow
from tactician.coding import FileChanged, SuiteMeasured
from tactician.ensemble.reviews.terminal import rest_while_asking
from tactician.events import Event
from tactician.llm import CircuitClosed, CircuitOpened, ModelFellBack, RequestDelayed, RequestRetried
from tactician.loop import OutputRejected, ToolCalled, ToolReturned, TurnCompleted, TurnStarted
from tactician.personalities import PLAIN, Personality
from tactician.process import (
    ActionCompleted,
    ActionStarted,
    MessageSent,
    PlanMade,
    ProcessEnded,
    ProcessStarted,
    ProcessStatus,
)
from tactician.process.agent.spec import PlannedAgentSpec
from tactician.process.state.event_log import format_new_messages, format_response
from tactician.secrets import mask_secrets


@dataclass(slots=True)
class ProgressView:
    """Event sink that prints events to a console.

    Attributes:
        prompts: show the prompts of models.
        responses: show the responses of models.
        spec: the agent whose plans are drawn in full; with `None` a plan takes a single line.
        voice: the personality.
        shows_ids: show the ids of processes that are in a store.
        events: show all recorded events, each on a line.
        messages: show what actions tell people.
        board: the tasks of ensembles.
    """

    console: Console
    prompts: bool = False
    responses: bool = False
    spec: PlannedAgentSpec | None = None
    voice: Personality = PLAIN
    shows_ids: bool = False
    events: bool = False
    messages: bool = True
    board: TaskBoard = field(default_factory=TaskBoard)
    _live: Live | None = field(default=None, init=False)
    _rests: bool = field(default=False, init=False)

    @contextmanager
    def watch(self) -> Iterator[None]:
        """Draw the tasks of ensembles during the `with` block, if the console is a terminal."""
        self._live = self.board.create_live(self.console) if self.console.is_terminal else None
        try:
            with rest_while_asking(self.rest):
                yield
        finally:
            self._stop()
            self._live = None

    @contextmanager
    def rest(self) -> Iterator[None]:
        """Draw no tasks during the `with` block, in which somebody is asked at the terminal."""
        was_drawn = self._stop()
        self._rests = True
        try:
            yield
        finally:
            self._rests = False
            if was_drawn and self._live is not None:
                self._live = self.board.create_live(self.console)  # below what was asked
                self._live.start()

    def _stop(self) -> bool:
        """Draw no more, and return whether the tasks were drawn."""
        if self._live is None or not self._live.is_started:
            return False
        self._live.stop()
        return True

    @contextmanager
    def without_messages(self) -> Iterator[None]:
        """Leave out what actions tell people during the `with` block, where that is shown otherwise."""
        self.messages = False
        try:
            yield
        finally:
            self.messages = True

    def __call__(self, event: Event) -> None:
        """Print an event, if it is shown at all."""
        if self.events and event.is_recorded:
            self._print_line(event, f"[dim]{event.type}: {escape(shorten(event.describe()))}[/dim]")
        row = self.board(event)
        if row is not None:
            self._show_row(row)
        match event:
            case ProcessStarted():
                self._process_started(event)
            case PlanMade():
                self._plan_made(event)
            case ActionStarted():
                text = self._phrase(event)
                self._print_line(
                    event, f"{_colour(self.voice.accent, f'▶ {text}')}  [dim]{escape(event.description)}[/dim]"
                )
            case ActionCompleted():
                self._action_completed(event)
            case MessageSent() if self.messages:
                self._print_line(event, f"  {escape(event.message.text)}")
            case ProcessEnded():
                self._process_ended(event)
            case TurnStarted() if self.prompts:
                self._print_panel(format_new_messages(event.request), f"prompt to {event.model}", "blue")
            case TurnCompleted() if self.responses:
                self._print_panel(
                    format_response(event.response), f"response of {event.response.model or 'the model'}", "magenta"
                )
            case ToolCalled():
                self._print_line(
                    event, f"  [dim]· {escape(event.call.name)}({escape(shorten(event.call.arguments))})[/dim]"
                )
            case ToolReturned():
                mark = "[red]✗[/red]" if event.result.is_error else "→"
                self._print_line(event, f"  [dim]  {mark} {escape(shorten(event.result.content))}[/dim]")
            case FileChanged():
                self._print_line(event, f"  [cyan]± {escape(event.describe())}[/cyan]{format_change(event.diff)}")
            case SuiteMeasured():
                self._print_line(event, f"  [dim]{escape(event.describe())}[/dim]")
            case OutputRejected():
                reason = escape(shorten(event.reason))
                self._print_line(event, f"  [yellow]answer {event.attempt} is not valid: {reason}[/yellow]")
            case RequestDelayed() | RequestRetried() | CircuitOpened() | CircuitClosed() | ModelFellBack():
                if event.level >= logging.INFO:
                    self._print_line(event, f"  [yellow]{escape(mask_secrets(event.describe()))}[/yellow]")
            case _:
                pass

    def _show_row(self, row: TaskRow) -> None:
        """Draw the tasks from now on, or print a line where nothing is drawn."""
        if self._live is None:
            self._print_row(row)
        elif not (self._rests or self._live.is_started):
            self._live.start()

    def _print_row(self, row: TaskRow) -> None:
        figures = "" if row.status == "running" else f"  [dim]{self.board.describe(row)}[/dim]"
        detail = f"  [dim]{escape(shorten(row.detail))}[/dim]" if row.detail else ""
        role = f"  [dim]{escape(row.role)}[/dim]" if row.status == "running" else ""
        indent = "  " * row.depth
        line = f"{indent}{row.mark} {escape(shorten(row.name))}{role}{figures}{detail}"
        self.console.print(line, soft_wrap=True, highlight=False)

    def _process_started(self, event: ProcessStarted) -> None:
        text = self._phrase(event, agent=f"[bold]{escape(event.subject)}[/bold]")
        self._print_line(event, f"{text}  [dim]{escape(event.run_id)}[/dim]" if self.shows_ids else text)

    def _plan_made(self, event: PlanMade) -> None:
        if self.spec is not None:
            self.console.print(build_plan_tree(self.spec, event.plan))
            return
        steps = escape(" → ".join(action.name for action in event.plan.actions))
        self._print_line(event, f"[dim]{self._phrase(event, plan='').rstrip()}[/dim] {steps}")

    def _action_completed(self, event: ActionCompleted) -> None:
        voice, text, used = self.voice, self._phrase(event), f"[dim]{format_usage(event.seconds, event.tally)}[/dim]"
        if event.error is not None:
            self._print_line(event, f"{_colour(voice.bad, f'✗ {text}')}  {used}")
            return
        outputs = " ".join(("→", *event.outputs)) if event.outputs else "→ nothing"
        self._print_line(event, f"{_colour(voice.good, f'✓ {text}')} {escape(outputs)}  {used}")

    def _process_ended(self, event: ProcessEnded) -> None:
        colours = {ProcessStatus.COMPLETED: self.voice.good, ProcessStatus.WAITING: "yellow"}
        text = _colour(f"bold {colours.get(event.status, self.voice.bad)}", self._phrase(event))
        self._print_line(event, f"{text}  [dim]{format_usage(event.seconds, event.tally)}[/dim]")

    def _phrase(self, event: Event, **styled: str) -> str:
        """Return what the personality says of an event, as markup."""
        moment = event.describe_moment()
        assert moment is not None
        values = {name: escape(mask_secrets(value)) for name, value in moment.values.items()}
        return self.voice.phrase(replace(moment, values=values | styled))

    def _print_panel(self, text: str, title: str, colour: str) -> None:
        self.console.print(Panel(escape(mask_secrets(text)), title=escape(title), border_style=colour))

    def _print_line(self, event: Event, text: str) -> None:
        depth = max(0, len(event.path) - 1)
        self.console.print("  " * depth + text, soft_wrap=True, highlight=False)


def _colour(colour: str, text: str) -> str:
    return f"[{colour}]{text}[/{colour}]"
