"""Decisions of a process: the plan to follow from here, and why there is no plan."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from math import isfinite
from typing import Final, NamedTuple

from typing_extensions import override

from tactician.documents import did_you_mean
from tactician.errors import ConfigurationError, Rejected
from tactician.planning import (
    NIRVANA,
    Action,
    ConditionValue,
    Explanation,
    Goal,
    Plan,
    PlanningBudget,
    WorldState,
)
from tactician.process.blackboard import DEFAULT_BINDING, Blackboard, Rejection, get_state_declaration
from tactician.process.deliberation import PlanningTurns
from tactician.process.goals import GoalSpec
from tactician.process.handle import ProcessHandle
from tactician.process.operation import OperationContext
from tactician.process.spec import ActionSpec, Observe, PlannedAgentSpec
from tactician.process.state import ProcessState
from tactician.runs import OutputError, Suspended, find_suspension

_MOST_REPLANS: Final = 5


class Decision(NamedTuple):
    """The plan to follow, if there is one, the world that it was made for, and the action that it does without."""

    plan: Plan | None
    world: WorldState
    declined: Action | None = None


class PlanningTask(NamedTuple):
    """The agent to plan for, the limits, and a plan that may still work."""

    agent: PlannedAgentSpec
    budget: PlanningBudget
    known: Plan | None = None


async def decide(task: PlanningTask, state: ProcessState, context: OperationContext) -> Decision:
    """Choose the plan to follow from here, and change nothing: a look ahead and a tick decide alike.

    Where all depends on the action that asked to plan without it, that action is planned with again.
    """
    if state.replans >= _MOST_REPLANS + state.unstickings:
        return Decision(None, await observe(task.agent, context), state.declined)
    decision = await _best_without(state.declined, task, context)
    if decision.plan is None and state.replans and state.declined is not None:
        decision = await _best_without(None, task, context)
    plan = decision.plan
    return decision if plan is None else decision._replace(plan=state.order.arrange(plan, decision.world))


async def _best_without(declined: Action | None, task: PlanningTask, context: OperationContext) -> Decision:
    """Find the best plan that does without one action.

    Conditions that can simply be seen are looked at. Others, which may ask a model, are found out only where the plan
    depends on them, each once.
    """
    agent, plan = task.agent, None
    world = await _add_prices(WorldState(_look(agent, context)), agent, context)
    for actions in iterate_scopes(agent, context.blackboard, agent.plannable_without(declined)):
        plan, world = await _best(task, world, actions, context)
        if plan is not None:
            break
    return Decision(plan, world, declined)


async def _best(
    task: PlanningTask, world: WorldState, actions: tuple[Action, ...], context: OperationContext
) -> tuple[Plan | None, WorldState]:
    """Find the best plan of these actions, and the world with what was found out for it."""
    agent, turns = task.agent, PlanningTurns.current()
    goals = tuple(goal.plan for goal in agent.goals)
    consultation = await turns.run(
        lambda: agent.planner.consult(
            world, actions, goals, budget=task.budget, known=task.known, asks=bool(agent.conditions)
        )
    )
    while (question := await turns.advance(consultation)) is not None:
        observe = agent.conditions.get(question)
        consultation.answer(None if observe is None else await _evaluate(question, observe, context))
    return consultation.plan, consultation.world


async def observe(agent: PlannedAgentSpec, context: OperationContext) -> WorldState:
    """Evaluate every condition."""
    found = {name: await _evaluate(name, look, context) for name, look in agent.conditions.items()}
    return await _add_prices(WorldState({**_look(agent, context), **found}), agent, context)


def _look(agent: PlannedAgentSpec, context: OperationContext) -> dict[str, ConditionValue]:
    blackboard = context.blackboard
    return {name: look(blackboard) for name, look in agent.observations.items()}


async def _evaluate(name: str, look: Observe, context: OperationContext) -> bool:
    own = context.at(name)
    with _finding_out(f"the condition {name!r}", own):
        holds = look(own)
        return holds if isinstance(holds, bool) else bool(await holds)


@contextmanager
def _finding_out(place: str, context: OperationContext) -> Iterator[None]:
    """Enter the run of a condition or cost, and name it where it fails. It cannot wait."""
    try:
        with context.run.enter():
            yield
    except BaseException as error:
        if (suspended := find_suspension(error)) is not None:
            raise ConfigurationError(
                f"{_name_waiting(suspended, context)} waits for somebody, which can be waited for in an action of a "
                f"process only, and not in {place}."
            ) from error
        if isinstance(error, Exception):
            error.add_note(f"in {place}")
        raise


def _name_waiting(suspended: Suspended, context: OperationContext) -> str:
    """Return the name of what runs in the context, and has to wait."""
    own = len(context.run.path)
    names = dict.fromkeys(name for request in suspended.pending for name in request.path[own : own + 1])
    return " and ".join(names) or "What it runs"


def iterate_scopes(
    agent: PlannedAgentSpec, board: Blackboard, actions: tuple[Action, ...]
) -> Iterator[tuple[Action, ...]]:
    """Yield the actions to plan with: those of the next scope, where no plan is found with these.

    In a state, what it declares comes first, and what takes a state. Where that does not lead to a goal, the agent's
    own actions go on with what the state has given; those that take nothing belong to the time before it.
    """
    if not agent.states or not any(isinstance(value, agent.states) for value in board.objects):
        yield actions
        return
    specs = [agent.action(action.name) for action in actions]
    yield tuple(one.plan for one in specs if one.state is not None or any(map(get_state_declaration, one.input_types)))
    yield tuple(one.plan for one in specs if one.state is not None or one.input_types)


class PricedWorld(WorldState):
    """World state with the costs and values of now."""

    __slots__ = ("prices",)

    def __init__(self, conditions: Mapping[str, ConditionValue], prices: Mapping[str, float]) -> None:
        super().__init__(conditions)
        self.prices = prices

    @override
    def with_(self, conditions: Mapping[str, ConditionValue] | None = None, /, **named: ConditionValue) -> PricedWorld:
        return PricedWorld(super().with_(conditions, **named), self.prices)


def lookup_price(name: str, otherwise: float) -> Callable[[WorldState], float]:
    """Return a cost or a value for the planner: the price of that name; `otherwise` in a world without prices."""

    def price(world: WorldState) -> float:
        return world.prices.get(name, otherwise) if isinstance(world, PricedWorld) else otherwise

    return price


async def _add_prices(world: WorldState, agent: PlannedAgentSpec, context: OperationContext) -> WorldState:
    """Return the world with the prices of now, each found out once; the same world when the agent has no prices.

    Raises:
        ValueError: when a price is not a number from 0 up.
    """
    if not agent.prices:
        return world
    prices: dict[str, float] = {}
    for name, find in agent.prices.items():
        own = context.at(f"cost {name}")
        with _finding_out(f"the cost {name!r}", own):
            found = find(own)
            price: object = await found if isinstance(found, Awaitable) else found
        if not isinstance(price, int | float) or not isfinite(price) or price < 0:
            raise ValueError(f"the cost {name!r} gave {price!r}; it has to be a number from 0 up")
        prices[name] = float(price)
    return PricedWorld(world, prices)


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
