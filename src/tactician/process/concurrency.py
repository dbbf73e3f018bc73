"""Which actions of a plan may run at the same time, with the same result as one after the other."""

from __future__ import annotations

from collections.abc import Sequence

from tactician.planning import Action, WorldState
from tactician.process.spec import ActionSpec, PlannedAgentSpec


def startable(
    actions: Sequence[Action], world: WorldState, agent: PlannedAgentSpec, most: int
) -> tuple[ActionSpec, ...]:
    """Those of the next actions of a plan that can all be started now, in their order; at least the first.

    An action may overtake those before it in the plan only when neither of the two touches what the other needs or
    changes, and when it is sure what they give: else the plan may change in between. It may where costs do, too: then
    it is one action after the other.
    """
    first, *others = actions
    chosen, before = [agent.action(first.name)], [agent.action(first.name)]
    for action in map(agent.action, (other.name for other in others)) if not agent.prices else ():
        if len(chosen) >= most or not before[-1].is_sure:
            break
        overtakes = len(chosen) < len(before)
        may_run = action.plan.is_runnable_in(world) and (action.is_sure or not overtakes)
        if may_run and all(_commute(action, earlier) for earlier in before):
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
