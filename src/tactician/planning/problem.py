"""A goal and the actions that can help it, compiled to masks."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Final

from tactician.frozen import frozen
from tactician.planning.masks import Masks, bits_of, by_bit, union
from tactician.planning.model import Action
from tactician.planning.world import Fact, WorldState

UNITS_PER_COST: Final = 10**9
COST_BITS: Final = 32
"""The bits of a weight above which its cost is, in billionths."""


def weight_of(cost: float) -> int:
    """Combine cost and step in an exact integer: less cost wins, then fewer steps.

    Costs are compared in billionths, so that 0.1 + 0.2 equals 0.3. Every weight is positive, so that a detour through
    free actions loses. Plans of 2**32 steps and more are out of reach anyway.
    """
    whole = int(cost)
    return (whole * UNITS_PER_COST + round((cost - whole) * UNITS_PER_COST) << COST_BITS) + 1


@frozen
class PlanningProblem:
    """The actions that can help a goal, the preferred ones first, and their masks over `facts`.

    `needs` has all the preconditions of an action; `masks.needs` lacks its `enablers`, which only have to hold at the
    start. `bits` has each condition with the facts that it holds and that it does not; `contested` the facts that
    several actions add, `variable` the actions whose cost is a function. `may_gain` tells whether an action may
    be worth something.
    """

    facts: dict[Fact, int]
    bits: tuple[tuple[str, int, int], ...]
    actions: tuple[Action, ...]
    needs: tuple[int, ...]
    enablers: tuple[int, ...]
    masks: Masks
    contested: int
    fixed_weights: tuple[int, ...]
    variable: tuple[int, ...]
    may_gain: bool

    @staticmethod
    def of(facts: dict[Fact, int], actions: tuple[Action, ...], conditions: Iterable[Fact]) -> PlanningProblem:
        """Compile the actions that are relevant to the goal."""
        needs = [_mask(facts, action.pre.items()) for action in actions]
        adds = [_mask(facts, action.effects.items()) & ~need for action, need in zip(actions, needs, strict=True)]
        deletes = [_mask(facts, ((name, not value) for name, value in action.effects.items())) for action in actions]
        enablers = split_enablers(needs, adds, deletes)
        watched = [need & ~enabler for need, enabler in zip(needs, enablers, strict=True)]
        masks = Masks.of(_mask(facts, conditions), watched, adds, deletes)
        names = dict.fromkeys(name for name, _ in facts)
        return PlanningProblem(
            facts,
            tuple((name, facts.get((name, True), 0), facts.get((name, False), 0)) for name in names),
            actions,
            tuple(needs),
            tuple(enablers),
            masks,
            contested=sum(fact for fact, achievers in masks.achievers.items() if len(achievers) > 1),
            fixed_weights=tuple(0 if callable(action.cost) else weight_of(action.cost) for action in actions),
            variable=tuple(number for number, action in enumerate(actions) if callable(action.cost)),
            may_gain=any(callable(action.value) or action.value > 0 for action in actions),
        )

    def weights(self, cost_of: Callable[[Action], float]) -> Sequence[int]:
        """Return the weight of each action."""
        if not self.variable:
            return self.fixed_weights
        weights = list(self.fixed_weights)
        for number in self.variable:
            weights[number] = weight_of(cost_of(self.actions[number]))
        return weights

    def facts_in(self, world: WorldState) -> int:
        """Return the facts that hold in the world."""
        mask = 0
        values = dict(world.items())
        for name, holding, lacking in self.bits:
            value = values.get(name)
            if value is True:
                mask |= holding
            elif value is False:
                mask |= lacking
        return mask

    def runs(self, steps: Sequence[int], start: int) -> bool:
        """Return True if the steps can be run in this order and reach the goal."""
        return not any(self.enablers[step] & ~start for step in steps) and self.masks.run(start, steps)

    def first_use(self, steps: Iterable[int], assumed: int) -> str | None:
        """Return the first condition of which the steps, or at their end the goal, use an assumed fact."""
        if not assumed:
            return None
        for step in steps:
            if self.needs[step] & assumed:
                return self._name_in(self.needs[step] & assumed)
            assumed &= ~(self.masks.adds[step] | self.masks.deletes[step])
        return self._name_in(self.masks.goal & assumed) if self.masks.goal & assumed else None

    def _name_in(self, mask: int) -> str:
        return next(name for (name, _), bit in self.facts.items() if bit & mask)


def _mask(facts: dict[Fact, int], conditions: Iterable[Fact]) -> int:
    mask = 0
    for fact in conditions:
        mask |= facts.get(fact, 0)
    return mask


def split_enablers(needs: Sequence[int], adds: Sequence[int], deletes: Sequence[int]) -> list[int]:
    """Return, for each action, the preconditions that only have to hold at the start.

    No action adds such a fact, and any action that deletes it also adds, for good, all that the action in question
    adds. An optimal plan then never runs the action after the fact is gone, as it would achieve nothing. So "has not
    run yet" and "its output is not there yet" need not be watched, and no longer make actions compete.
    """
    added, deleted = union(adds), union(deletes)
    deleters = by_bit(deletes)

    def replaceable(number: int, fact: int) -> bool:
        return all(not adds[number] & ~adds[deleter] for deleter in deleters[fact])

    enablers = []
    for number, need in enumerate(needs):
        enabler = need & ~added
        if enabler & deleted:
            lasting = not adds[number] & deleted
            for fact in bits_of(enabler & deleted):
                if not (lasting and replaceable(number, fact)):
                    enabler ^= fact
        enablers.append(enabler)
    return enablers
