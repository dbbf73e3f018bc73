"""Views of runs, rebuilt from a log of their events."""

from __future__ import annotations

from collections.abc import Iterable

from tactician.events import Event
from tactician.llm.usage import UsageTally
from tactician.loop import TurnCompleted
from tactician.platform.views.runs import RunTree, RunView
from tactician.process import ActionCompleted, ProcessEnded, ProcessStarted
from tactician.process.state.state import ActionRun
from tactician.runs import PendingRequest, RunCompleted, RunEnded, RunStarted, RunSuspended
from tactician.runs.outcomes.events import PROCESS_KIND


def replay_events(events: Iterable[Event]) -> list[RunTree]:
    """Return the runs that events tell of, those inside others as their children, oldest first.

    Events come from `read_event_log`, or from a listener. A run of which no event tells how it ended is `"running"`, or
    `"completed"` once the run around it has ended. A call of a model by an action is a run inside its process too.
    """
    runs: dict[str, _Run] = {}
    for event in events:
        if event.run_id:
            runs.setdefault(event.run_id, _Run(event)).note(event)
    inside: dict[str, list[_Run]] = {}
    for run in runs.values():
        inside.setdefault(run.parent_id if run.parent_id in runs else "", []).append(run)
    return [_build_tree(run, inside) for run in inside.get("", ())]


class _Run:
    """State of a run according to its events so far."""

    def __init__(self, first: Event) -> None:
        self.id, self.parent_id = first.run_id, first.parent_id or ""
        self.name = first.path[-1] if first.path else ""
        self.kind, self.status = "run", "running"
        self.began = self.last = first.time
        self.tally = UsageTally()
        self.whole: UsageTally | None = None
        self.history: list[ActionRun] = []
        self.pending: tuple[PendingRequest, ...] = ()
        self.failure: str | None = None

    def note(self, event: Event) -> None:
        """Take an event into account."""
        self.last = event.time
        match event:
            case RunStarted():
                self.whole = None
                self.kind, self.status, self.pending = event.kind, "running", ()
            case RunEnded():
                self.status, self.whole = event.status.value, event.tally
                self.failure = self.failure or event.error
            case ProcessStarted():
                self.kind, self.status, self.pending = PROCESS_KIND, "running", ()
                self.parent_id = event.parent_id or ""  # the process around it, and not the action
            case TurnCompleted():
                self.tally.add(event.response.usage)
            case ActionCompleted():
                began = event.time - event.seconds
                run = ActionRun(event.action, began, event.seconds, event.tally, event.outputs, event.error)
                self.history.append(run)
            case RunSuspended():
                self.status, self.pending = "waiting", event.pending
            case RunCompleted():
                self.status, self.pending = event.result.status.value, event.result.pending
            case ProcessEnded():
                self.status, self.failure, self.whole = event.status.value, event.failure, event.tally
            case _:
                pass

    def view(self) -> RunView:
        """Return the run as it stands after these events."""
        return RunView(
            self.id,
            self.name,
            self.kind,
            self.status,
            self.parent_id or None,
            started_at=self.began,
            seconds=self.last - self.began,
            tally=self.whole or self.tally,
            history=tuple(self.history),
            pending=self.pending,
            failure=self.failure,
        )


def _build_tree(run: _Run, inside: dict[str, list[_Run]], parent: _Run | None = None) -> RunTree:
    if run.status == "running" and parent is not None and parent.status != "running":
        run.status = "completed"
    return RunTree(run.view(), tuple(_build_tree(child, inside, run) for child in inside.get(run.id, ())))
