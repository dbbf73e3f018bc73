"""Which actions of a plan may run at the same time, with the same result as one after the other."""

from __future__ import annotations

from tactician.planning import Action, Plan, WorldState


def startable(plan: Plan, world: WorldState, most: int) -> tuple[Action, ...]:
    """The actions of a plan that can all be started now, in their order; at least its first.

    An action may overtake those before it in the plan only when neither of the two touches what the other needs or
    changes.
    """
    first, *others = plan.actions
    chosen, before = [first], [first]
    for action in others:
        if len(chosen) >= most:
            break
        if action.is_runnable_in(world) and all(_commute(action, earlier) for earlier in before):
            chosen.append(action)
        before.append(action)
    return tuple(chosen)


def _commute(one: Action, other: Action) -> bool:
    if one.effects.keys() & other.pre.keys() or other.effects.keys() & one.pre.keys():
        return False
    return all(one.effects[name] == other.effects[name] for name in one.effects.keys() & other.effects.keys())
