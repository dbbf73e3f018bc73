"""Schedules of least makespan: tasks with durations, some before others, and a number that may run at once.

Branch and bound over the order in which tasks start, after the serial schedule generation of Kolisch, "Serial and
parallel resource-constrained project scheduling methods revisited" (EJOR 1996): some order gives an optimal schedule.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cached_property
from heapq import heapreplace
from typing import Final

from tactician.frozen import frozen

_NODES: Final = 4000
"""Partial schedules that are looked at. All with up to 12 tasks is far less in most problems."""
_MARGIN: Final = 1e-9


@frozen
class Schedule:
    """Starts of tasks.

    Attributes:
        starts: when each task starts.
        order: the tasks in the order of their starts.
        makespan: when the last task ends.
        is_optimal: True when no schedule is shorter.
    """

    starts: tuple[float, ...]
    order: tuple[int, ...]
    makespan: float
    is_optimal: bool


class PlanScheduler:
    """Finder of schedules.

    Args:
        durations: duration of each task, not negative.
        before: for each task the tasks that end before it starts; all have smaller numbers.
        places: number of tasks that may run at once.
        alone: tasks beside which no other runs.
    """

    def __init__(
        self,
        durations: Sequence[float],
        before: Sequence[Iterable[int]],
        places: int,
        alone: Iterable[int] = (),
    ) -> None:
        self._durations = durations
        self._before = [frozenset(tasks) for tasks in before]
        self._places = max(1, min(places, len(durations)))
        self._alone = frozenset(alone)
        self._tails = self._measure_tails()
        self._best: tuple[float, list[int], list[float]] | None = None
        self._nodes = 0
        self._seen: dict[tuple[int, tuple[float, ...], tuple[float, ...]], float] = {}

    @cached_property
    def bound(self) -> float:
        """The least makespan possible, as far as a look shows.

        The tasks that start after some time, and after which there is still some chain to come, share the places.
        """
        tails = [tail - duration for tail, duration in zip(self._tails, self._durations, strict=True)]
        tasks = list(zip(self._measure_heads(), tails, self._durations, strict=True))
        bounds = [max(self._tails, default=0.0)]
        for after in {head for head, _, _ in tasks}:
            late = [(tail, duration) for head, tail, duration in tasks if head >= after]
            bounds += [after + tail + sum(d for t, d in late if t >= tail) / self._places for tail in {*dict(late)}]
        return max(bounds)

    def find(self, nodes: int = _NODES) -> Schedule:
        """Return the best schedule among so many partial schedules; the first follows the longest chains."""
        count = len(self._durations)
        if not count:
            return Schedule((), (), 0.0, is_optimal=True)
        by_tail = sorted(range(count), key=lambda task: (-self._tails[task], task))
        self._offer(*self.follow(by_tail))
        self._offer(*self.follow(range(count)))
        assert self._best is not None
        if self._best[0] > self.bound + _MARGIN:
            self._nodes = nodes
            self._branch([], [0.0] * count, [0.0] * self._places, 0.0)
        makespan, order, starts = self._best
        is_optimal = self._nodes > 0 or makespan <= self.bound + _MARGIN
        return Schedule(tuple(starts), tuple(order), makespan, is_optimal)

    def follow(self, priority: Iterable[int], *, keeps_order: bool = False) -> tuple[list[int], list[float]]:
        """Return the order and the starts when the first task that can start always does, as a process does.

        Args:
            priority: the tasks, the first the most urgent.
            keeps_order: True to let no task start before one that is more urgent.
        """
        waiting, ends = list(priority), [-1.0] * len(self._durations)
        order, starts, now = list[int](), [0.0] * len(self._durations), 0.0
        while waiting:
            running = [task for task in order if ends[task] > now + _MARGIN]
            task = self._find_startable(waiting, running, ends, now, keeps_order=keeps_order)
            if task is None:
                now = min(ends[task] for task in running)
                continue
            waiting.remove(task)
            order.append(task)
            starts[task], ends[task] = now, now + self._durations[task]
        return order, starts

    def must_keep_order(self, schedule: Schedule) -> bool:
        """Return True if starting each task as soon as it can, in the order of the schedule, takes longer."""
        order, starts = self.follow(schedule.order)
        ends = [starts[task] + self._durations[task] for task in order]
        return max(ends, default=0.0) > schedule.makespan + _MARGIN

    def _find_startable(
        self, waiting: Sequence[int], running: Sequence[int], ends: Sequence[float], now: float, *, keeps_order: bool
    ) -> int | None:
        if len(running) >= self._places or not self._alone.isdisjoint(running):
            return None
        for task in waiting[:1] if keeps_order else waiting:
            is_due = all(0.0 <= ends[earlier] <= now + _MARGIN for earlier in self._before[task])
            if is_due and not (running and task in self._alone):
                return task
        return None

    def _measure_heads(self) -> list[float]:
        """Return for each task the length of the longest chain before it."""
        heads = [0.0] * len(self._durations)
        for task, earlier in enumerate(self._before):
            heads[task] = max([heads[other] + self._durations[other] for other in earlier], default=0.0)
        return heads

    def _measure_tails(self) -> list[float]:
        """Return for each task the length of the longest chain that begins with it."""
        tails = list(self._durations)
        for task in reversed(range(len(tails))):
            for earlier in self._before[task]:
                tails[earlier] = max(tails[earlier], self._durations[earlier] + tails[task])
        return tails

    def _offer(self, order: Sequence[int], starts: Sequence[float]) -> None:
        makespan = max(start + duration for start, duration in zip(starts, self._durations, strict=True))
        if self._best is None or makespan < self._best[0] - _MARGIN:
            self._best = makespan, list(order), list(starts)

    def _branch(self, order: list[int], starts: list[float], free: list[float], last: float) -> None:
        """Try every next task; places are free from the times in `free`, a heap, and no task starts before `last`."""
        if len(order) == len(starts):
            self._offer(order, starts)
            return
        self._nodes -= 1
        for start, task in self._list_next(order, starts, free, last):
            assert self._best is not None
            if self._nodes <= 0 or self._best[0] <= self.bound + _MARGIN:
                return
            if self._is_promising(order, starts, free, start, task):
                end = start + self._durations[task]
                places = [end] * len(free) if task in self._alone else list(free)
                if task not in self._alone:
                    heapreplace(places, end)
                starts[task] = start
                self._branch([*order, task], starts, places, start)

    def _list_next(
        self, order: Sequence[int], starts: Sequence[float], free: Sequence[float], last: float
    ) -> list[tuple[float, int]]:
        done, candidates = set(order), []
        for task in range(len(starts)):
            if task not in done and self._before[task] <= done:
                ends = [starts[earlier] + self._durations[earlier] for earlier in self._before[task]]
                room = max(free) if task in self._alone else free[0]
                candidates.append((max([last, room, *ends]), task))
        # A task that could end before another starts goes first: it takes nothing from the other.
        limit, first = min((start + self._durations[task], task) for start, task in candidates)
        candidates = [each for each in candidates if each[0] < limit - _MARGIN or each[1] == first]
        return sorted(candidates, key=lambda each: (each[0], -self._tails[each[1]], each[1]))

    def _is_promising(
        self, order: Sequence[int], starts: Sequence[float], free: Sequence[float], start: float, task: int
    ) -> bool:
        """Return whether the best schedule could be beaten with this task next, and nobody has tried the like."""
        assert self._best is not None
        done = {*order}
        best, left = self._best[0], sum(self._durations[other] for other in range(len(starts)) if other not in done)
        # Later tasks start no earlier, so a place that is free before is idle until then.
        load = (sum(max(time, start) for time in free) + left) / len(free)
        chain = max(start + self._tails[other] for other in range(len(starts)) if other not in done)
        if max(load, chain) >= best - _MARGIN:
            return False
        ends = tuple(round(max(start, starts[other] + self._durations[other]), 9) for other in sorted(done))
        key = sum(1 << other for other in done) << 8 | task, tuple(sorted(round(max(start, t), 9) for t in free)), ends
        if self._seen.get(key, start + 1) <= start:
            return False
        self._seen[key] = start
        return True
