"""State that the client sees: the plans of the agent, and of the agents inside it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from ag_ui.core import BaseEvent, StateDeltaEvent, StateSnapshotEvent
from pydantic import JsonValue

from tactician.planning import Plan

_PLAN, _SUBPLANS = "plan", "subplans"


class SharedState:
    """State of a run of a client: what the client has sent, with the plan under `/plan`.

    The plans of subagents are under `/subplans`, by their ids.

    Args:
        sent: the state that the client has sent.

    Attributes:
        has_begun: true once the client has got a plan.
    """

    def __init__(self, sent: object) -> None:
        sent_state = sent if isinstance(sent, Mapping) else {}
        self._values: dict[str, JsonValue] = {str(name): value for name, value in sent_state.items()}
        self._plan: JsonValue = None
        self._subplans: dict[str, JsonValue] = {}
        self.has_begun = False

    def resume(self) -> None:
        """Take the plans over from the state that the client has sent: they belong to the run that continues."""
        self._plan = self._values.get(_PLAN)
        subplans = self._values.get(_SUBPLANS)
        self._subplans = dict(subplans) if isinstance(subplans, dict) else {}

    def set_plan(self, plan: Plan, owner: str | None) -> Iterator[BaseEvent]:
        """Yield the event of a plan: the whole state at first, then what changes."""
        shown = _show_plan(plan)
        is_known = owner is None or owner in self._subplans
        if owner is None:
            self._plan = shown
        else:
            self._subplans[owner] = shown
        if not self.has_begun:
            self.has_begun = True
            yield self.snapshot()
        else:
            place = f"/{_PLAN}" if owner is None else f"/{_SUBPLANS}/{_escape(owner)}"
            change = {"op": "replace" if is_known else "add", "path": place, "value": shown}
            yield StateDeltaEvent.model_validate({"delta": [change]})

    def snapshot(self) -> StateSnapshotEvent:
        """Return the event of the whole state."""
        return StateSnapshotEvent(snapshot={**self._values, _PLAN: self._plan, _SUBPLANS: dict(self._subplans)})


def _show_plan(plan: Plan) -> JsonValue:
    actions: list[JsonValue] = [
        {"name": action.name, "cost": cost} for action, cost in zip(plan.actions, plan.costs, strict=True)
    ]
    return {"goal": plan.goal.name, "actions": actions, "cost": plan.cost, "optimal": plan.optimal}


def _escape(name: str) -> str:
    """Return a name as a part of a JSON pointer (RFC 6901)."""
    return name.replace("~", "~0").replace("/", "~1")
