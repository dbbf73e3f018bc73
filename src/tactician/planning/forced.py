"""Actions that need no search: those that are unavoidable, and the best of several alike."""

from __future__ import annotations

from collections.abc import Sequence

from tactician.planning.masks import Masks


def find_forced_plan(masks: Masks, weights: Sequence[int], usable: Sequence[bool], start: int) -> list[int] | None:
    """Return the plan made of unavoidable actions only, or `None`; such a plan is optimal.

    A missing fact with a single achiever forces that action, whose own needs force others. If what is forced covers all
    that is missing and can be put in order, then nothing can be cheaper or shorter.
    """
    needs, adds = masks.needs, masks.adds
    forced: list[int] = []
    provided, open_choices = start, 0
    missing = masks.goal & ~start
    while missing:
        fact = missing & -missing
        achievers = [number for number in masks.achievers.get(fact, ()) if usable[number]]
        if len(achievers) > 1:
            achievers = find_undominated(masks, weights, achievers)
        if len(achievers) == 1:
            step = achievers[0]
            forced.append(step)
            provided |= adds[step]
            missing |= needs[step]
        else:
            open_choices |= fact
        missing &= ~(provided | open_choices)
    # Only now: a step that was found later may provide a fact that several actions could have provided.
    return None if open_choices & ~provided else arrange(masks, start, forced)


def arrange(masks: Masks, start: int, steps: Sequence[int]) -> list[int] | None:
    """Put the steps in an order that runs and reaches the goal, preferred actions early, or `None` without success.

    At each point it takes a runnable step that destroys nothing the others still need, if possible.
    """
    state, waiting, ordered = start, sorted(steps), []
    while waiting:
        step = _next_step(masks, state, waiting)
        if step is None:
            return None
        waiting.remove(step)
        ordered.append(step)
        state = masks.after(state, step)
    return None if masks.goal & ~state else ordered


def _next_step(masks: Masks, state: int, waiting: Sequence[int]) -> int | None:
    needs, deletes, destructive, facts_needed = masks.needs, masks.deletes, None, None
    for step in waiting:
        if not needs[step] & ~state:
            if not deletes[step]:
                return step  # it destroys nothing, so that no other order can be better
            facts_needed = facts_needed or _find_needs(masks, waiting)
            needed, shared = facts_needed
            # What the step alone needs it may destroy: nobody waits for it afterwards.
            if not deletes[step] & (masks.goal | shared | needed & ~needs[step]):
                return step
            destructive = step if destructive is None else destructive
    return destructive


def _find_needs(masks: Masks, steps: Sequence[int]) -> tuple[int, int]:
    """Return the facts that any of the steps needs, and those that several of them need."""
    needed = shared = 0
    for step in steps:
        shared |= needed & masks.needs[step]
        needed |= masks.needs[step]
    return needed, shared


def find_undominated(masks: Masks, weights: Sequence[int], candidates: Sequence[int]) -> list[int]:
    """Leave out the candidates that the cheapest of them can always stand in for.

    It can if it weighs no more, needs no more, deletes no more and adds at least as much.
    """
    best = min(candidates, key=lambda number: (weights[number], masks.needs[number].bit_count(), number))
    return [number for number in candidates if number == best or not _dominates(masks, best, number)]


def _dominates(masks: Masks, best: int, number: int) -> bool:
    return not (
        masks.needs[best] & ~masks.needs[number]
        or masks.adds[number] & ~masks.adds[best]
        or masks.deletes[best] & ~masks.deletes[number]
    )
