"""Steps: the actions of planned agents, and the tasks and phases of ensembles, while they run."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from ag_ui.core import BaseEvent, StepFinishedEvent, StepStartedEvent

from tactician.events import Event
from tactician.events.span_facts import SpanKind
from tactician.frozen import frozen

_KINDS: Final = frozenset({SpanKind.ACTION, SpanKind.TASK, SpanKind.PHASE})


@frozen
class _Step:
    name: str
    owner: str | None
    run_id: str
    kind: str
    key: str


class Steps:
    """Open steps of a run of a client. No two of a subagent have the same name."""

    def __init__(self) -> None:
        self._open: list[_Step] = []

    def follow(self, event: Event, owner: str | None) -> Iterator[BaseEvent]:
        """Yield the events of the steps that an event finishes and starts."""
        if event.closes in _KINDS:
            for step in [step for step in self._open if _is_closed(step, event)][-1:]:
                yield self._finish(step)
        if event.opens in _KINDS and event.closes is None:
            step = _Step(self._name(event, owner), owner, event.run_id, event.opens or "", event.span_key)
            self._open.append(step)
            yield StepStartedEvent(step_name=step.name, subagent_run_id=owner)

    def finish_run(self, run_id: str) -> Iterator[BaseEvent]:
        """Yield the events of the steps of a run that ends."""
        for step in [step for step in reversed(self._open) if step.run_id == run_id]:
            yield self._finish(step)

    def finish_all(self) -> Iterator[BaseEvent]:
        """Yield the events of all open steps, the latest first."""
        while self._open:
            yield self._finish(self._open[-1])

    def _finish(self, step: _Step) -> StepFinishedEvent:
        self._open.remove(step)
        return StepFinishedEvent(step_name=step.name, subagent_run_id=step.owner)

    def _name(self, event: Event, owner: str | None) -> str:
        name = event.describe_span().name or event.span_key
        taken = {step.name for step in self._open if step.owner == owner}
        numbered = (f"{name} {number}" for number in range(2, len(taken) + 3))
        return name if name not in taken else next(other for other in numbered if other not in taken)


def _is_closed(step: _Step, event: Event) -> bool:
    return (step.run_id, step.kind, step.key) == (event.run_id, event.closes, event.span_key)
