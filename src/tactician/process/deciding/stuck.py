"""Explanation of a process without a plan: what keeps each goal from being reached, or any action from running."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Final

from tactician.errors import Rejected
from tactician.frozen import frozen
from tactician.planning import Goal, WorldState
from tactician.planning.model import NIRVANA
from tactician.process.agent.spec import ActionSpec, PlannedAgentSpec
from tactician.process.deciding.decision import iterate_scopes
from tactician.process.objects import DEFAULT_BINDING
from tactician.process.state.errors import describe_rejection
from tactician.process.state.goals import GoalSpec
from tactician.process.state.state import ProcessState
from tactician.runs import OutputError
from tactician.suggestions import did_you_mean

if TYPE_CHECKING:
    from tactician.planning.explanation import Explanation


def explain_stuck(agent: PlannedAgentSpec, state: ProcessState, world: WorldState) -> str:
    """Explain what keeps each goal from being reached; without a goal, why no action runs."""
    situation = _Situation(agent, state, world)
    reasons = [situation.explain_goal(goal) for goal in agent.goals] or [situation.explain_idle()]
    return " ".join((*reasons, *_explain_rules(agent, state, world), *situation.find_misnamed()))


_NO_MORE: Final = "each action that leads there has run, and runs once in a process unless it has can_rerun=True"


def _explain_rules(agent: PlannedAgentSpec, state: ProcessState, world: WorldState) -> Iterator[str]:
    if agent.rule_book is not None:
        from tactician.process.deciding.ruling import explain_rules

        yield from explain_rules(agent.rule_book, agent, state, world)


@frozen
class _Situation:
    """Process without a plan."""

    agent: PlannedAgentSpec
    state: ProcessState
    world: WorldState

    def explain_goal(self, goal: GoalSpec) -> str:
        """Explain what keeps the goal from being reached, in a sentence.

        Actions that do not run any more are the real cause. Without such an action, the planner knows what is missing.
        """
        explanation = self._explain(goal.plan)
        if explanation.obstacle == "conflict":
            return self._explain_conflict(goal) or str(explanation)
        reasons, are_obstacles = self._find_dead_ends(goal)
        if (
            explanation.plan is not None
            or are_obstacles
            or any(map(_is_negative, (*explanation.missing, *explanation.blocked_by)))
        ):
            if not reasons and any(_explain_rules(self.agent, self.state, self.world)):
                return f"No plan that keeps the rules reaches {goal.name!r}."
            return f"No plan reaches {goal.name!r}: {'; '.join(reasons) or _NO_MORE}."
        return self._describe_shortage(explanation)

    def explain_idle(self) -> str:
        """Explain why no action runs, in a sentence."""
        explanation = self._explain(NIRVANA)
        if any(map(_is_negative, explanation.blocked_by)):
            return f"No action can run now: {'; '.join(map(self._explain_action, self._candidates))}."
        return self._describe_shortage(explanation)

    def find_misnamed(self) -> Iterator[str]:
        """Yield a sentence for each name of an object that nothing takes, while an object taken by name is missing.

        Without such a lack, the name does no harm: objects are found by their types too.
        """
        agent, there = self.agent, {entry.binding for entry in self.state.blackboard.entries if not entry.hidden}
        missing = sorted(agent.bindings - there)
        outputs = {DEFAULT_BINDING, *(action.output_binding for action in agent.actions)}
        for name in sorted(there - agent.bindings - outputs) if missing else ():
            hint = did_you_mean(name, missing) or f" What is missing is taken by {' and '.join(map(repr, missing))}."
            yield f"Nothing takes an object by the name {name!r}.{hint}"

    def _explain(self, goal: Goal) -> Explanation:
        return self.agent.planner.explain(self.world, [action.plan for action in self._candidates], goal)

    @property
    def _candidates(self) -> list[ActionSpec]:
        """The actions to plan with: in a state, not all of the agent."""
        *_, widest = iterate_scopes(self.agent, self.state.blackboard, self.agent.plannable)
        return [self.agent.action(action.name) for action in widest]

    def _list_missing(self, action: ActionSpec) -> list[str]:
        return [name for name, value in action.plan.pre.items() if value and not self.world.get(name)]

    def _describe_shortage(self, explanation: Explanation) -> str:
        """Return what the planner explains, with conditions that are false or unknown, and objects that are missing."""
        if explanation.obstacle == "no single action":
            reaches = "can run" if explanation.goal == NIRVANA else f"that can run reaches {explanation.goal.name!r}"
            return f"No action {reaches} now{self._describe_nearest(explanation, self._quote_need)}."
        if explanation.obstacle == "no provider":
            lacks = "; ".join(map(self._describe_dead_end, explanation.missing))
        else:
            blocked = "the actions that provide it cannot run"
            lacks = "; ".join(f"{self._describe_lack(name)} and {blocked}" for name in explanation.missing)
        return f"No plan reaches {explanation.goal.name!r}: {lacks}{self._describe_nearest(explanation, repr)}."

    def _describe_nearest(self, explanation: Explanation, quote: Callable[[str], str]) -> str:
        if explanation.nearest is None:
            return ""
        needs = " and ".join(map(quote, explanation.blocked_by))
        return f"; the nearest action is {explanation.nearest.name!r}, which needs {needs}"

    def _quote_need(self, condition: str) -> str:
        return repr(condition) if condition in self.agent.objects else f"{condition!r} ({self._get_value(condition)})"

    def _describe_dead_end(self, condition: str) -> str:
        provides = "provides it" if condition in self.agent.objects else "makes it true"
        return f"{self._describe_lack(condition)} and no action {provides}"

    def _describe_lack(self, condition: str) -> str:
        if condition in self.agent.objects:
            return f"{condition!r} is missing"
        return f"{condition!r} is {self._get_value(condition)}"

    def _get_value(self, condition: str) -> str:
        return "false" if self.world.get(condition) is False else "unknown"

    def _explain_conflict(self, goal: GoalSpec) -> str | None:
        """Explain that an action ends what another needs, before which it has to run; `None` when none does."""
        candidates = self._candidates
        for action in self._find_on_the_way(goal, candidates):
            for condition in self._list_missing(action):
                providers = [candidate for candidate in candidates if candidate.plan.effects.get(condition)]
                for needed, value in action.plan.pre.items():
                    if (
                        value
                        and providers
                        and all(provider.plan.effects.get(needed) is False for provider in providers)
                    ):
                        first = " or ".join(repr(provider.name) for provider in providers)
                        why = f"runs only while {needed!r} holds, and {first}, which has to run before it, ends that"
                        return f"No plan reaches {goal.name!r}: {action.name!r} {why}."
        return None

    def _find_on_the_way(self, goal: GoalSpec, candidates: Sequence[ActionSpec]) -> list[ActionSpec]:
        """Return the actions that could lead to the goal, those next to it first."""
        required, producers = list(goal.plan.conditions), dict[str, ActionSpec]()
        for condition in required:  # grows as it goes
            for action in candidates:
                if action.plan.effects.get(condition) and action.name not in producers:
                    producers[action.name] = action
                    required.extend(self._list_missing(action))
        return list(producers.values())

    def _explain_action(self, action: ActionSpec) -> str:
        return (
            self._find_obstacle(action)
            or f"{action.name!r} needs {' and '.join(map(repr, self._list_missing(action)))}"
        )

    def _find_dead_ends(self, goal: GoalSpec) -> tuple[list[str], bool]:
        """Go back from the goal, and return why conditions cannot be met any more; True when actions are the reason."""
        candidates, reasons, blocked = self._candidates, list[str](), False
        deciding = _find_deciding([name for name in goal.plan.conditions if not self.world.get(name)], candidates)
        for condition in deciding:  # grows as it goes
            providers = [action for action in candidates if action.plan.effects.get(condition)]
            obstacles = [obstacle for action in providers if (obstacle := self._find_obstacle(action)) is not None]
            blocked = blocked or bool(obstacles)
            if not providers:
                reasons.append(self._describe_dead_end(condition))
            elif obstacles:
                why = " and ".join(obstacles)
                of_itself = any(condition == action.condition_ran for action in providers)
                reasons.append(why if of_itself else f"{self._describe_lack(condition)}, as {why}")
            for action in providers:
                if self._find_obstacle(action) is None:
                    deciding.extend(name for name in self._list_missing(action) if name not in deciding)
        return list(dict.fromkeys(reasons)), blocked

    def _find_obstacle(self, action: ActionSpec) -> str | None:
        """Return why an action does not run, whatever else happens; `None` when it could."""
        there = [name for name, value in action.plan.pre.items() if not value and self.world.get(name)]
        last = next((run for run in reversed(self.state.history) if run.action == action.name), None)
        if last is not None and last.error is not None:
            return _explain_error(action.name, last.error)
        if last is not None and (there or action.plan not in self.agent.plannable_without(self.state.declined)):
            gave_nothing = action.output_types and not last.outputs
            return f"{action.name!r} ran and gave nothing" if gave_nothing else f"{action.name!r} has run already"
        if there:
            objects = " and ".join(f"{name.removesuffix(' already')} already" for name in there)
            return f"{action.name!r} does not run when there is {objects}"
        return None


def _explain_error(action: str, error: str) -> str:
    kind, _, reason = error.partition(": ")  # what else it could raise would have ended the process
    if kind == Rejected.__name__:
        return describe_rejection(action, reason)
    if kind == OutputError.__name__:
        return f"{action!r} got no valid answer of a model ({reason})"
    return f"{action!r} asked to plan again" + (f" ({reason})" if reason else "")


def _is_negative(condition: str) -> bool:
    return condition.startswith("not ")


def _find_deciding(conditions: Sequence[str], actions: Sequence[ActionSpec]) -> list[str]:
    """Return the conditions without those that come along with an action that another of them needs."""
    providers = {name: [action.name for action in actions if action.plan.effects.get(name)] for name in conditions}
    needed = {name for only in providers.values() if len(only) == 1 for name in only}
    return [name for name in conditions if len(providers[name]) < 2 or needed.isdisjoint(providers[name])]
