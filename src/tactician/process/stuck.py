"""Why a process is stuck, in words."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from tactician.planning import NIRVANA, WorldState
from tactician.process.spec import ActionSpec, GoalSpec

if TYPE_CHECKING:
    from tactician.process.process import AgentProcess


def why_all_stuck(process: AgentProcess, world: WorldState) -> str:
    """What keeps each goal from being reached; without a goal, why nothing runs."""
    agent = process.agent
    reasons = [why_stuck(process, world, goal) for goal in agent.goals]
    return " ".join(reasons) or str(agent.planner.explain(world, agent.plannable, NIRVANA))


def why_stuck(process: AgentProcess, world: WorldState, goal: GoalSpec) -> str:
    """What keeps the goal from being reached, one sentence.

    The planner explains what is missing. Where that is for an action not to have run, or for an object not to be
    there, this says it the other way round.
    """
    agent = process.agent
    explanation = agent.planner.explain(world, agent.plannable, goal.plan)
    if explanation.plan is None and not any(missing.startswith("not ") for missing in explanation.missing):
        return str(explanation)
    reasons = "; ".join(_dead_ends(process, world, goal)) or "the actions that lead there have run already"
    return f"No plan reaches {goal.name!r}: {reasons}."


def _dead_ends(process: AgentProcess, world: WorldState, goal: GoalSpec) -> Iterator[str]:
    """Back from the goal: each condition that no action can meet any more, and why."""
    wanted = [name for name in goal.plan.conditions if not world.get(name)]
    for condition in wanted:  # grows as it goes
        providers = [action for action in process.agent.actions if action.plan.effects.get(condition)]
        obstacles = {action.name: _obstacle(process, world, action) for action in providers}
        if not providers:
            yield f"{condition!r} is missing and no action provides it"
        elif all(obstacles.values()):
            reasons = " and ".join(filter(None, obstacles.values()))
            of_itself = any(condition == action.condition_ran for action in providers)
            yield reasons if of_itself else f"{condition!r} is missing, as {reasons}"
        for action in providers:
            if obstacles[action.name] is None:
                needs = (name for name, value in action.plan.pre.items() if value and not world.get(name))
                wanted.extend(name for name in needs if name not in wanted)


def _obstacle(process: AgentProcess, world: WorldState, action: ActionSpec) -> str | None:
    """Why an action does not run, whatever else happens; `None` when it could."""
    there = [name for name, value in action.plan.pre.items() if not value and world.get(name)]
    last = next((run for run in reversed(process.history) if run.action == action.name), None)
    if last is not None and (there or action.plan not in process.plannable):
        return f"{action.name!r} has run " + (
            "already" if last.outputs or not action.output_types else "and gave nothing"
        )
    if there:
        objects = " and ".join(f"{name.removesuffix(' already')} already" for name in there)
        return f"{action.name!r} does not run when there is {objects}"
    return None
