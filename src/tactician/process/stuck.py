"""Explanations of why a process is stuck, for people."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tactician.documents import did_you_mean
from tactician.errors import Rejected
from tactician.planning import NIRVANA, Explanation, Goal, WorldState
from tactician.process.decision import iterate_scopes
from tactician.process.goals import GoalSpec
from tactician.process.handle import ProcessHandle
from tactician.process.objects import DEFAULT_BINDING, Rejection
from tactician.process.spec import ActionSpec, PlannedAgentSpec
from tactician.process.state import ProcessState
from tactician.runs import OutputError


def explain_stuck(agent: PlannedAgentSpec, state: ProcessState, world: WorldState) -> str:
    """Explain what keeps each goal from being reached; without a goal, why no action runs."""
    situation = _Situation(agent, state, world)
    reasons = [situation.explain_goal(goal) for goal in agent.goals] or [situation.explain_idle()]
    return " ".join((*reasons, *situation.find_misnamed()))


def find_rejection(process: ProcessHandle) -> Rejected | None:
    """Return the last rejection because of which a process is stuck, to be raised by an action around it."""
    for said in reversed(process.blackboard.all(Rejection)):
        rejected = Rejected(said.prompt, said.reason)
        if process.failure is not None and _was_rejected(said.action, str(rejected)) in process.failure:
            return rejected
    return None


@dataclass(frozen=True, slots=True)
class _Situation:
    """A process without a plan."""

    agent: PlannedAgentSpec
    state: ProcessState
    world: WorldState

    def explain_goal(self, goal: GoalSpec) -> str:
        """Explain what keeps the goal from being reached, in one sentence.

        The planner explains what is missing. Where that is for an action not to have run, or for an object not to be
        there, this puts it the other way round.
        """
        explanation = self._explain(goal.plan)
        if explanation.plan is None and not any(map(_is_negative, (*explanation.missing, *explanation.blocked_by))):
            return str(explanation)
        reasons = "; ".join(self._find_dead_ends(goal)) or "the actions that lead there have run already"
        return f"No plan reaches {goal.name!r}: {reasons}."

    def explain_idle(self) -> str:
        """Explain why no action runs, in one sentence."""
        explanation = self._explain(NIRVANA)
        if not any(map(_is_negative, explanation.blocked_by)):
            return str(explanation)
        return f"No action can run now: {'; '.join(map(self._explain_action, self._candidates))}."

    def find_misnamed(self) -> Iterator[str]:
        """Yield a sentence for each name of an object that nothing takes, while an object taken by name is missing.

        Without such a lack, the name does no harm: objects are found by their types too.
        """
        agent, there = self.agent, {entry.binding for entry in self.state.blackboard.entries if not entry.hidden}
        missing = sorted(agent.bindings - there)
        given = {DEFAULT_BINDING, *(action.output_binding for action in agent.actions)}
        for name in sorted(there - agent.bindings - given) if missing else ():
            hint = did_you_mean(name, missing) or f" What is missing is taken by {' and '.join(map(repr, missing))}."
            yield f"Nothing takes an object by the name {name!r}.{hint}"

    def _explain(self, goal: Goal) -> Explanation:
        return self.agent.planner.explain(self.world, [action.plan for action in self._candidates], goal)

    @property
    def _candidates(self) -> list[ActionSpec]:
        """The actions to plan with: in a state, not all of the agent."""
        *_, widest = iterate_scopes(self.agent, self.state.blackboard, self.agent.plannable)
        return [self.agent.action(action.name) for action in widest]

    def _lacking(self, action: ActionSpec) -> list[str]:
        return [name for name, value in action.plan.pre.items() if value and not self.world.get(name)]

    def _explain_action(self, action: ActionSpec) -> str:
        return self._find_obstacle(action) or f"{action.name!r} needs {' and '.join(map(repr, self._lacking(action)))}"

    def _find_dead_ends(self, goal: GoalSpec) -> Iterator[str]:
        """Go back from the goal, and yield each condition that no action can meet any more, with the reason."""
        candidates = self._candidates
        wanted = _find_deciding([name for name in goal.plan.conditions if not self.world.get(name)], candidates)
        for condition in wanted:  # grows as it goes
            providers = [action for action in candidates if action.plan.effects.get(condition)]
            obstacles = {action.name: self._find_obstacle(action) for action in providers}
            if not providers:
                yield f"{condition!r} is missing and no action provides it"
            elif all(obstacles.values()):
                reasons = " and ".join(filter(None, obstacles.values()))
                of_itself = any(condition == action.condition_ran for action in providers)
                yield reasons if of_itself else f"{condition!r} is missing, as {reasons}"
            for action in providers:
                if obstacles[action.name] is None:
                    wanted.extend(name for name in self._lacking(action) if name not in wanted)

    def _find_obstacle(self, action: ActionSpec) -> str | None:
        """Return why an action does not run, whatever else happens; `None` when it could."""
        there = [name for name, value in action.plan.pre.items() if not value and self.world.get(name)]
        last = next((run for run in reversed(self.state.history) if run.action == action.name), None)
        if last is not None and last.error is not None:
            return _explain_error(action.name, last.error)
        if last is not None and (there or action.plan not in self.agent.plannable_without(self.state.declined)):
            gave_nothing = action.output_types and not last.outputs
            return f"{action.name!r} has run {'and gave nothing' if gave_nothing else 'already'}"
        if there:
            objects = " and ".join(f"{name.removesuffix(' already')} already" for name in there)
            return f"{action.name!r} does not run when there is {objects}"
        return None


def _explain_error(action: str, error: str) -> str:
    kind, _, reason = error.partition(": ")  # what else it could raise would have ended the process
    if kind == Rejected.__name__:
        return _was_rejected(action, reason)
    if kind == OutputError.__name__:
        return f"{action!r} got no valid answer of a model ({reason})"
    return f"{action!r} asked to plan again" + (f" ({reason})" if reason else "")


def _was_rejected(action: str, reason: str) -> str:
    return f"{action!r} has run, and {reason}"


def _is_negative(condition: str) -> bool:
    return condition.startswith("not ")


def _find_deciding(conditions: Sequence[str], actions: Sequence[ActionSpec]) -> list[str]:
    """Return the conditions without those that come along with an action that another of them needs."""
    providers = {name: [one.name for one in actions if one.plan.effects.get(name)] for name in conditions}
    needed = {name for only in providers.values() if len(only) == 1 for name in only}
    return [name for name in conditions if len(providers[name]) < 2 or needed.isdisjoint(providers[name])]
