"""Any object as a Runnable, and any Runnable as a planned agent."""

from __future__ import annotations

from collections.abc import Iterable

from tactician.agents.base import BaseRunnable
from tactician.agents.planned.planned_agent import PlannedAgent, is_planned
from tactician.process.agent.spec import PlannedAgentSpec
from tactician.runs import Runnable


def as_runnable(value: object) -> Runnable | None:
    """Return the value as a Runnable, also an instance of a `@planned_agent` class; `None` for another value."""
    if isinstance(value, type):
        return None
    if is_planned(value):
        return PlannedAgent(value)
    return value if isinstance(value, Runnable) else None


def planned_spec(runnable: Runnable) -> PlannedAgentSpec | None:
    """Return the actions and goals of a planned agent; `None` for another Runnable."""
    return runnable.planned_spec if isinstance(runnable, BaseRunnable) else None


def find_planned_specs(runnables: Iterable[Runnable]) -> list[PlannedAgentSpec]:
    """Return the specs of the planned agents among these Runnables."""
    return [spec for runnable in runnables if (spec := planned_spec(runnable)) is not None]


def find_process_spec(runnable: Runnable) -> PlannedAgentSpec | None:
    """Return the spec of a Runnable that declares its output; `None` when its output type is unknown."""
    return build_process_spec(runnable) if _find_output_type(runnable) or planned_spec(runnable) else None


def build_process_spec(runnable: Runnable) -> PlannedAgentSpec:
    """Return the spec for processes of a Runnable. A Runnable that is not planned gets an action that runs it."""
    if (spec := planned_spec(runnable)) is not None:
        return spec
    # Imported here, since `tests/test_import.py` bounds what a planned agent loads.
    from tactician.agents.planned.single_action import build_single_action

    return build_single_action(runnable, _find_output_type(runnable))


def _find_output_type(runnable: Runnable) -> type | None:
    output_type = runnable.output_type if isinstance(runnable, BaseRunnable) else None
    return output_type if isinstance(output_type, type) else None
