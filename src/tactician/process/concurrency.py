"""Which actions of a plan may run at the same time, with the same result as one after the other."""

from __future__ import annotations

from collections.abc import Sequence

from tactician.planning import Action, WorldState
from tactician.process.spec import ActionSpec, AgentSpec


def startable(actions: Sequence[Action], world: WorldState, agent: AgentSpec, most: int) -> tuple[ActionSpec, ...]:
    """Those of the next actions of a plan that can all be started now, in their order; at least the first.

    An action may overtake those before it in the plan only when neither of the two touches what the other needs or
    changes. Where costs change from step to step, the plan may too: then it is one action after the other.
    """
    first, *others = (agent.action(action.name) for action in actions)
    chosen, before = [first], [first]
    for action in others if not agent.prices else ():
        if len(chosen) >= most:
            break
        if action.plan.is_runnable_in(world) and all(_commute(action, earlier) for earlier in before):
            chosen.append(action)
        before.append(action)
    return tuple(chosen)


def _commute(one: ActionSpec, other: ActionSpec) -> bool:
    if one.is_serial or other.is_serial or _may_take_from(one, other) or _may_take_from(other, one):
        return False
    return _are_independent(one.plan, other.plan)


def _may_take_from(taker: ActionSpec, giver: ActionSpec) -> bool:
    return any(
        issubclass(given, taken) or issubclass(taken, given)
        for taken in taker.optional_types
        for given in giver.output_types
    )


def _are_independent(one: Action, other: Action) -> bool:
    if one.effects.keys() & other.pre.keys() or other.effects.keys() & one.pre.keys():
        return False
    return all(one.effects[name] == other.effects[name] for name in one.effects.keys() & other.effects.keys())
