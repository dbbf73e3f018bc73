"""Shows a run in the terminal as it happens."""

from __future__ import annotations

from dataclasses import dataclass

from rich.console import Console
from rich.markup import escape
from rich.panel import Panel

from tactician.cli.calls import told
from tactician.cli.drawing import plan_tree
from tactician.events import (
    ActionCompleted,
    ActionStarted,
    Event,
    OutputRejected,
    PlanMade,
    ProcessEnded,
    ProcessStarted,
    ToolCalled,
    ToolReturned,
    TurnCompleted,
    TurnStarted,
)
from tactician.llm import AssistantMessage, ModelRequest, ModelResponse, UsageTally, text_of
from tactician.process import AgentSpec, ProcessStatus


@dataclass(slots=True)
class ProgressView:
    """An event sink that writes what happens to a console.

    Attributes:
        prompts: whether to show what models are sent.
        responses: whether to show what models answer.
        spec: the agent whose plans are drawn in full; with `None` a plan is one line.
    """

    console: Console
    prompts: bool = False
    responses: bool = False
    spec: AgentSpec | None = None

    def __call__(self, event: Event) -> None:
        """Shows an event, if it is one of those that are shown."""
        match event:
            case ProcessStarted():
                self._process_started(event)
            case PlanMade():
                self._plan_made(event)
            case ActionStarted():
                self._line(event, f"[cyan]▶ {escape(event.action)}[/cyan]  [dim]{escape(event.description)}[/dim]")
            case ActionCompleted():
                self._action_completed(event)
            case ProcessEnded():
                self._process_ended(event)
            case TurnStarted() if self.prompts:
                self._panel(_prompt(event.request), f"prompt to {event.model}", "blue")
            case TurnCompleted() if self.responses:
                self._panel(_answer(event.response), f"response of {event.response.model or 'the model'}", "magenta")
            case ToolCalled():
                self._line(event, f"  [dim]· {escape(event.call.name)}({escape(_short(event.call.arguments))})[/dim]")
            case ToolReturned():
                mark = "[red]✗[/red]" if event.result.is_error else "→"
                self._line(event, f"  [dim]  {mark} {escape(_short(event.result.content))}[/dim]")
            case OutputRejected():
                reason = escape(_short(event.reason))
                self._line(event, f"  [yellow]answer {event.attempt} is not valid: {reason}[/yellow]")
            case _ if (line := told(event)) is not None:
                self._line(event, f"  [yellow]{escape(line)}[/yellow]")
            case _:
                pass

    def _process_started(self, event: ProcessStarted) -> None:
        self._line(event, f"[bold]{escape(event.agent)}[/bold] towards {escape(', '.join(event.goals))}")

    def _plan_made(self, event: PlanMade) -> None:
        if self.spec is not None:
            self.console.print(plan_tree(self.spec, event.plan))
            return
        self._line(event, f"[dim]plan[/dim] {escape(' → '.join(a.name for a in event.plan.actions))}")

    def _action_completed(self, event: ActionCompleted) -> None:
        used = _used(event.seconds, event.tally)
        if event.error is not None:
            self._line(event, f"[red]✗ {escape(event.action)}[/red]  [dim]{used}[/dim]")
            return
        given = " ".join(("→", *event.outputs)) if event.outputs else "→ nothing"
        self._line(event, f"[green]✓ {escape(event.action)}[/green] {escape(given)}  [dim]{used}[/dim]")

    def _process_ended(self, event: ProcessEnded) -> None:
        colour = "green" if event.status is ProcessStatus.COMPLETED else "red"
        used = _used(event.seconds, event.tally)
        self._line(event, f"[bold {colour}]{event.status}[/bold {colour}]  [dim]{used}[/dim]")

    def _panel(self, text: str, title: str, colour: str) -> None:
        self.console.print(Panel(escape(text), title=escape(title), border_style=colour))

    def _line(self, event: Event, text: str) -> None:
        depth = max(0, len(event.path) - 1)
        self.console.print("  " * depth + text, soft_wrap=True, highlight=False)


def _prompt(request: ModelRequest) -> str:
    """What is new since the model's last answer; everything, before its first."""
    messages = request.messages
    answers = [index for index, message in enumerate(messages) if isinstance(message, AssistantMessage)]
    return text_of(messages[answers[-1] + 1 :] if answers else messages)


def _answer(response: ModelResponse) -> str:
    calls = (f"{call.name}({call.arguments})" for call in response.message.tool_calls)
    return "\n".join(filter(None, (response.message.text, *calls)))


def _used(seconds: float, tally: UsageTally) -> str:
    """Duration, tokens and cost, in one line."""
    parts = [f"{seconds:.1f} s" if seconds >= 0.1 else f"{seconds * 1000:.1f} ms"]
    if tally.by_model:
        used, cost = tally.total, tally.total.cost
        parts += [f"{used.total_tokens} tokens", "price unknown" if cost is None else f"${cost:.4f}"]
    return " · ".join(parts)


def _short(text: str, limit: int = 100) -> str:
    line = " ".join(text.split())
    return line if len(line) <= limit else line[: limit - 1] + "…"
