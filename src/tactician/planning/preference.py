"""Which of several equally good plans to prefer: the more specific actions, then those declared first."""

from __future__ import annotations

import heapq
from collections.abc import Generator, Iterable, Sequence

from tactician.planning.budget import PlanningMeter
from tactician.planning.forced import arrange
from tactician.planning.masks import Masks, bits_of, union
from tactician.planning.problem import PlanningProblem


def exchange(
    problem: PlanningProblem,
    weights: Sequence[int],
    usable: Sequence[bool],
    start: int,
    steps: list[int],
    meter: PlanningMeter,
) -> Generator[None, None, list[int]]:
    """Exchange single steps for preferred ones of the same weight until no exchange leaves a working plan.

    It halts after each attempt, and ends when the time is up.
    """
    position = 0
    while position < len(steps):
        for peer in _find_peers(problem, weights, usable, steps[position]):
            if meter.is_time_up:
                return steps
            changed = [*steps[:position], peer, *steps[position + 1 :]]
            ordered = _order(problem.masks, start, changed)
            yield
            if ordered is not None:
                # From the first step again: an exchange can make one possible that failed before it.
                steps, position = ordered, -1
                break
        position += 1
    return steps


def _find_peers(problem: PlanningProblem, weights: Sequence[int], usable: Sequence[bool], step: int) -> Iterable[int]:
    """Return the preferred actions that weigh the same as a step, and add something that it adds."""
    masks = problem.masks
    contested = masks.adds[step] & problem.contested
    peers = {number for fact in bits_of(contested) for number in masks.achievers[fact] if number < step}
    return [peer for peer in sorted(peers) if usable[peer] and weights[peer] == weights[step]]


def _order(masks: Masks, start: int, steps: list[int]) -> list[int] | None:
    """Return the steps in an order that works, preferably in the present order; `None` without success."""
    if masks.run(start, steps):
        return steps
    reachable = start | union([masks.adds[step] for step in steps])
    needed = masks.goal | union([masks.needs[step] for step in steps])
    return None if needed & ~reachable else arrange(masks, start, steps)


def canonical_order(masks: Masks, start: int, steps: list[int]) -> list[int]:
    """Run preferred steps as early as the others allow, without swapping two that depend on each other."""
    followers, waits_for = _dependencies(masks, start, steps)
    ready = [(step, position) for position, step in enumerate(steps) if not waits_for[position]]
    # The preferred action first, and of equal actions the earlier one: the order is the same whatever search found it.
    heapq.heapify(ready)
    ordered: list[int] = []
    while ready:
        step, position = heapq.heappop(ready)
        ordered.append(step)
        for follower in followers[position]:
            waits_for[follower] -= 1
            if not waits_for[follower]:
                heapq.heappush(ready, (steps[follower], follower))
    return ordered


def _dependencies(masks: Masks, start: int, steps: list[int]) -> tuple[list[list[int]], list[int]]:
    """Return, by position, the later steps that must stay later, and the number of earlier steps to wait for."""
    followers: list[list[int]] = [[] for _ in steps]
    waits_for = [0] * len(steps)
    deleted = union(masks.deletes[step] for step in steps)
    state = start
    for position, step in enumerate(steps):
        provides = masks.adds[step] & ~state
        delicate = masks.deletes[step] or (masks.needs[step] | masks.adds[step]) & deleted
        state = masks.after(state, step)
        for later in range(position + 1, len(steps)):
            other = steps[later]
            if provides & masks.needs[other] or (delicate and masks.interfere(step, other)):
                followers[position].append(later)
                waits_for[later] += 1
    return followers, waits_for
