"""Why a process is stuck, in words."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from tactician.documents import did_you_mean
from tactician.errors import Rejected
from tactician.planning import NIRVANA, Explanation, Goal, WorldState
from tactician.process.blackboard import DEFAULT_BINDING, Rejection
from tactician.process.phases import scopes
from tactician.process.spec import ActionSpec, GoalSpec
from tactician.runs import OutputError

if TYPE_CHECKING:
    from tactician.process.process import AgentProcess


def why_all_stuck(process: AgentProcess, world: WorldState) -> str:
    """What keeps each goal from being reached; without a goal, why nothing runs."""
    why = [why_stuck(process, world, goal) for goal in process.agent.goals] or [_why_idle(process, world)]
    return " ".join((*why, *_misnamed(process)))


def _misnamed(process: AgentProcess) -> Iterator[str]:
    """A sentence for each name that an object has and nothing takes, while something that is taken by name is missing.

    Without such a lack, the name does no harm: objects are found by their types too.
    """
    agent, there = process.agent, {entry.binding for entry in process.blackboard.entries if not entry.hidden}
    missing = sorted(agent.bindings - there)
    given = {DEFAULT_BINDING, *(action.output_binding for action in agent.actions)}
    for name in sorted(there - agent.bindings - given) if missing else ():
        hint = did_you_mean(name, missing) or f" What is missing is taken by {' and '.join(map(repr, missing))}."
        yield f"Nothing takes an object by the name {name!r}.{hint}"


def why_stuck(process: AgentProcess, world: WorldState, goal: GoalSpec) -> str:
    """What keeps the goal from being reached, one sentence.

    The planner explains what is missing. Where that is for an action not to have run, or for an object not to be
    there, this says it the other way round.
    """
    explanation = _explained(process, world, goal.plan)
    if explanation.plan is None and not any(map(_is_negative, (*explanation.missing, *explanation.blocked_by))):
        return str(explanation)
    reasons = "; ".join(_dead_ends(process, world, goal)) or "the actions that lead there have run already"
    return f"No plan reaches {goal.name!r}: {reasons}."


def _why_idle(process: AgentProcess, world: WorldState) -> str:
    """Why no action runs, one sentence."""
    explanation = _explained(process, world, NIRVANA)
    if not any(map(_is_negative, explanation.blocked_by)):
        return str(explanation)
    return f"No action can run now: {'; '.join(_why_not(process, world, action) for action in _there(process))}."


def _explained(process: AgentProcess, world: WorldState, goal: Goal) -> Explanation:
    return process.agent.planner.explain(world, [action.plan for action in _there(process)], goal)


def _there(process: AgentProcess) -> list[ActionSpec]:
    """The actions that come into question: in a state, not all of them."""
    *_, widest = scopes(process.agent, process.blackboard, process.agent.plannable)
    return [process.agent.action(action.name) for action in widest]


def _is_negative(condition: str) -> bool:
    return condition.startswith("not ")


def _why_not(process: AgentProcess, world: WorldState, action: ActionSpec) -> str:
    lacking = " and ".join(repr(name) for name, value in action.plan.pre.items() if value and not world.get(name))
    return _obstacle(process, world, action) or f"{action.name!r} needs {lacking}"


def _dead_ends(process: AgentProcess, world: WorldState, goal: GoalSpec) -> Iterator[str]:
    """Back from the goal: each condition that no action can meet any more, and why."""
    there = _there(process)
    wanted = _deciding([name for name in goal.plan.conditions if not world.get(name)], there)
    for condition in wanted:  # grows as it goes
        providers = [action for action in there if action.plan.effects.get(condition)]
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


def _deciding(conditions: Sequence[str], actions: Sequence[ActionSpec]) -> list[str]:
    """The conditions without those that come along with an action that another of them needs."""
    providers = {name: [one.name for one in actions if one.plan.effects.get(name)] for name in conditions}
    needed = {name for only in providers.values() if len(only) == 1 for name in only}
    return [name for name in conditions if len(providers[name]) < 2 or needed.isdisjoint(providers[name])]


def _obstacle(process: AgentProcess, world: WorldState, action: ActionSpec) -> str | None:
    """Why an action does not run, whatever else happens; `None` when it could."""
    there = [name for name, value in action.plan.pre.items() if not value and world.get(name)]
    last = next((run for run in reversed(process.history) if run.action == action.name), None)
    if last is not None and last.error is not None:
        kind, _, reason = last.error.partition(": ")  # what else it could raise would have ended the process
        if kind == Rejected.__name__:
            return _was_rejected(action.name, reason)
        if kind == OutputError.__name__:
            return f"{action.name!r} got no valid answer of a model ({reason})"
        return f"{action.name!r} asked to plan again" + (f" ({reason})" if reason else "")
    if last is not None and (there or action.plan not in process.plannable):
        return f"{action.name!r} has run " + (
            "already" if last.outputs or not action.output_types else "and gave nothing"
        )
    if there:
        objects = " and ".join(f"{name.removesuffix(' already')} already" for name in there)
        return f"{action.name!r} does not run when there is {objects}"
    return None


def _was_rejected(action: str, reason: str) -> str:
    return f"{action!r} has run, and {reason}"


def rejection_behind(process: AgentProcess) -> Rejected | None:
    """The last rejection because of which a process is stuck, as an action may raise it; `None` when none is."""
    for said in reversed(process.blackboard.all(Rejection)):
        rejected = Rejected(said.prompt, said.reason)
        if process.failure is not None and _was_rejected(said.action, str(rejected)) in process.failure:
            return rejected
    return None
