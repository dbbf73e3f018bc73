"""Decisions of a process: the plan to follow from here."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final, NamedTuple

from tactician.planning import Action, Plan, PlanningBudget, WorldState
from tactician.planning.consultation import Consultation
from tactician.process.agent.spec import PlannedAgentSpec
from tactician.process.board.blackboard import Blackboard
from tactician.process.deciding.deliberation import PlanningTurns
from tactician.process.deciding.observation import Observer
from tactician.process.objects import get_state_declaration
from tactician.process.state.state import ProcessState

if TYPE_CHECKING:
    from tactician.process.deciding.ruling import Ruling

_MOST_REPLANS: Final = 5


class Decision(NamedTuple):
    """The plan to follow, if any, the world and the actions that it was made for, the action left out, the rules."""

    plan: Plan | None
    world: WorldState
    actions: tuple[Action, ...] = ()
    declined: Action | None = None
    ruling: Ruling | None = None


class PlanningTask(NamedTuple):
    """The agent, the limits, the time, a plan that may still work, the last decision, and the actions left."""

    agent: PlannedAgentSpec
    budget: PlanningBudget
    now: float = 0.0
    known: Plan | None = None
    last: Decision | None = None
    left: tuple[str, ...] = ()


async def decide(task: PlanningTask, state: ProcessState, observer: Observer) -> Decision:
    """Choose the plan to follow from here, and change nothing: a look ahead and a tick decide alike.

    Where all depends on the action that asked to plan without it, that action is planned with again.
    """
    if state.replans >= _MOST_REPLANS + state.unstickings:
        return Decision(None, await observer.observe(), (), state.declined)
    world = await observer.look()
    ruling = await _read_rules(task, state, observer)
    decision = await _decide_without(state.declined, task, world, observer, ruling)
    if decision.plan is None and state.replans and state.declined is not None:
        decision = await _decide_without(None, task, world, observer, ruling)
    plan = decision.plan
    if ruling is not None:  # another order might break a rule
        return decision._replace(ruling=ruling)
    if plan is None or (arranged := state.order.arrange(plan, decision.world)) is plan:
        return decision
    return decision._replace(plan=arranged)


async def _read_rules(task: PlanningTask, state: ProcessState, observer: Observer) -> Ruling | None:
    if (book := task.agent.rule_book) is None:
        return None
    from tactician.process.deciding.ruling import read_rules

    return await read_rules(book, task.agent, state, observer, task.now)


async def _decide_without(
    declined: Action | None, task: PlanningTask, world: WorldState, observer: Observer, ruling: Ruling | None
) -> Decision:
    """Find the best plan that does without an action.

    Conditions that the blackboard does not show, and which may ask a model, are evaluated only where the plan depends
    on them, each once.
    """
    decision = Decision(None, world, (), declined)
    for actions in iterate_scopes(task.agent, observer.board, task.agent.plannable_without(declined)):
        plan = _continue_plan(task, world, actions, ruling)
        if plan is not None:
            return Decision(plan, world, actions, declined)
        consultation = await _consult(task, decision.world, actions, observer, ruling)
        decision = Decision(consultation.plan, consultation.world, actions, declined)
        if (plan := decision.plan) is not None:
            if (choose := task.agent.choose) is not None and ruling is None:
                decision = decision._replace(plan=choose(plan, decision.world, actions, task.known, task.left))
            break
    return decision


def _continue_plan(
    task: PlanningTask, world: WorldState, actions: tuple[Action, ...], ruling: Ruling | None
) -> Plan | None:
    """Return the rest of the last plan, where nothing unforeseen has happened, and none is better."""
    last, agent = task.last, task.agent
    if last is None or last.plan is None or last.actions != actions or agent.pursued != (last.plan.goal,):
        return None
    if ruling is not None and not ruling.follows(last.ruling, last.plan):
        return None
    return agent.planner.continue_plan(last.plan, last.world, world, actions)


async def _consult(
    task: PlanningTask,
    world: WorldState,
    actions: tuple[Action, ...],
    observer: Observer,
    ruling: Ruling | None,
) -> Consultation:
    """Let the planner find the best plan of these actions, and answer its questions."""
    agent, turns = task.agent, PlanningTurns.current()
    # Where a model leads, nothing is planned: the rules hold for what it calls.
    history = () if ruling is None or agent.is_led else ruling.progress
    consultation = await turns.run(
        lambda: agent.planner.consult(
            world,
            actions,
            agent.pursued,
            budget=task.budget,
            known=task.known,
            asks=bool(agent.conditions),
            history=history,
        )
    )
    while (question := await turns.advance(consultation)) is not None:
        consultation.answer(await observer.find_out(question))
    return consultation


def iterate_scopes(
    agent: PlannedAgentSpec, board: Blackboard, actions: tuple[Action, ...]
) -> Iterator[tuple[Action, ...]]:
    """Yield the actions to plan with, scope by scope, until there is a plan.

    In a state, what it declares comes first, and what takes a state. Where that does not lead to a goal, the agent's
    own actions continue with the objects of the state; those that take nothing belong to the time before it.
    """
    if not agent.states or not any(isinstance(value, agent.states) for value in board.objects):
        yield actions
        return
    specs = [agent.action(action.name) for action in actions]
    yield tuple(
        spec.plan for spec in specs if spec.state is not None or any(map(get_state_declaration, spec.input_types))
    )
    yield tuple(spec.plan for spec in specs if spec.state is not None or spec.input_types)
