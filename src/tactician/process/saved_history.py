"""The history of a process as JSON, and back."""

from __future__ import annotations

from collections.abc import Iterable

from typing_extensions import TypedDict

from tactician.llm import Usage, UsageTally
from tactician.process.state import ActionRun, ChildRun, ProcessStatus


class SavedRun(TypedDict):
    """Entry of a history."""

    action: str
    started_at: float
    seconds: float
    usage: list[Usage]
    outputs: list[str]
    error: str | None
    attempts: int
    children: list[SavedChild]


class SavedChild(TypedDict):
    """A process that ran inside an action."""

    id: str
    agent: str
    status: ProcessStatus
    failure: str | None
    history: list[SavedRun]


def save_history(history: Iterable[ActionRun]) -> list[SavedRun]:
    """Return a history as JSON."""
    return [
        SavedRun(
            action=run.action,
            started_at=run.started_at,
            seconds=run.seconds,
            usage=list(run.tally.by_model.values()),
            outputs=list(run.outputs),
            error=run.error,
            attempts=run.attempts,
            children=[_save_child(child) for child in run.children],
        )
        for run in history
    ]


def restore_history(saved: Iterable[SavedRun]) -> list[ActionRun]:
    """Restore a history that was saved."""
    return [_restore_run(run) for run in saved]


def _save_child(child: ChildRun) -> SavedChild:
    history = save_history(child.history)
    return SavedChild(id=child.id, agent=child.agent, status=child.status, failure=child.failure, history=history)


def _restore_run(saved: SavedRun) -> ActionRun:
    tally = UsageTally()
    for usage in saved["usage"]:
        tally.add(usage)
    return ActionRun(
        saved["action"],
        saved["started_at"],
        saved["seconds"],
        tally,
        tuple(saved["outputs"]),
        saved["error"],
        saved["attempts"],
        tuple(_restore_child(child) for child in saved["children"]),
    )


def _restore_child(saved: SavedChild) -> ChildRun:
    history = tuple(restore_history(saved["history"]))
    return ChildRun(saved["id"], saved["agent"], saved["status"], saved["failure"], history)
