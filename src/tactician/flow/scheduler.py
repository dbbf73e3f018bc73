"""Scheduler of steps: each starts as soon as its own dependencies are completed and there is room."""

from __future__ import annotations

import asyncio
from asyncio import CancelledError
from collections import deque
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Mapping
from contextvars import copy_context
from types import TracebackType
from typing import Generic, TypeVar

from tactician.amounts import need_amount
from tactician.cancellation import run_to_completion
from tactician.clock import SYSTEM_CLOCK, Clock
from tactician.flow.graph import StepGraph
from tactician.flow.performing import is_fatal, perform_step
from tactician.flow.steps import ErrorPolicy, FlowStep, StepCompleted, StepFailed, StepOutcome, StepSuspended
from tactician.runs import RunContext
from tactician.runs.outcomes.suspension import Suspended, find_suspension

T = TypeVar("T")


class Scheduler(Generic[T]):
    """Runner of steps that depend on each other. Iterating over it yields each outcome as its step ends.

    ```python
    async with Scheduler(max_concurrency=4) as scheduler:
        scheduler.add(FlowStep("load", load), FlowStep("count", count, depends_on=("load",)))
        async for outcome in scheduler:
            ...  # save it; steps may be added here
    ```

    A step starts as soon as the steps that it depends on are completed, also while the caller is busy with an outcome.
    Of steps that could start, the first in the order of addition does. Steps may be added until the iteration has
    ended.

    A step that raises `Suspended` lets all steps that do not depend on it run to their end; then the iteration raises
    a single `Suspended` with the requests of all. Meanwhile the record of the run shows them. An exception of a step is
    raised by the iteration, after the outcomes of steps that have ended before it, and all other steps are cancelled;
    with `on_error="continue"`, it is an outcome, the steps that depend on the failed step are skipped, and all others
    continue; with `"drain"`, it is an outcome, the steps that run continue, and all that have not started are skipped.
    Only an `Exception` is continued after.

    Leaving the `async with` block cancels the steps that run, and waits for their end.

    Args:
        max_concurrency: number of steps that may run at once; no limit, when `None`. With 1, steps run in the task of
            the caller; else each runs in a task of its own, with a copy of the context variables of the block.
        on_error: the effect of an exception of a step: `"fail_fast"`, `"drain"` or `"continue"`.
        clock: the time, for timeouts and retries.

    Raises:
        ConfigurationError: when `max_concurrency` is not a whole number from 1 up.
    """

    __slots__ = (
        "_clock", "_context", "_ended", "_failure", "_graph", "_has_news", "_is_open", "_limit", "_on_error",
        "_tasks",
    )  # fmt: skip

    def __init__(
        self,
        *,
        max_concurrency: int | None = None,
        on_error: ErrorPolicy = "fail_fast",
        clock: Clock = SYSTEM_CLOCK,
    ) -> None:
        if max_concurrency is not None:
            need_amount("max_concurrency", max_concurrency, least=1, whole=True)
        self._limit = max_concurrency
        self._on_error = on_error
        self._clock = clock
        self._graph: StepGraph[T] = StepGraph()
        self._ended: deque[StepOutcome[T]] = deque()
        self._failure: BaseException | None = None
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._has_news = asyncio.Event()
        self._is_open = False

    @property
    def outcomes(self) -> dict[str, StepOutcome[T]]:
        """The outcomes so far, in the order in which the steps were added."""
        return self._graph.outcomes

    def add(self, *steps: FlowStep[T]) -> None:
        """Add steps, which may depend on each other and on those that were added before.

        Raises:
            DeclarationError: when a key is used twice, a dependency is unknown, or steps depend on each other in a
                cycle; then nothing was added.
        """
        self._ended.extend(self._graph.add(steps))
        self._start_ready()

    async def __aenter__(self) -> Scheduler[T]:
        self._context = copy_context()
        self._is_open = True
        self._start_ready()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._is_open = False
        self._cancel_running()
        if self._tasks:
            # A second cancellation must not leave steps running after the block.
            await run_to_completion(_wait_for(self._tasks.values()))

    def __aiter__(self) -> Scheduler[T]:
        return self

    async def __anext__(self) -> StepOutcome[T]:
        # Outcomes that came before a failure are given out first: the caller saves them, so a restart does not repeat
        # these steps.
        while not self._ended and self._failure is None:
            if self._tasks:
                self._has_news.clear()
                await self._has_news.wait()
            # Nothing can run beside a single step, so it needs no task.
            elif self._limit == 1 and (step := self._graph.pop_ready()) is not None:
                self._record(await self._perform(step))
            # Only now, when nothing else can run: one suspension then has the requests of all waiting steps.
            elif suspended := self._graph.suspended:
                raise Suspended(*(request for outcome in suspended for request in outcome.pending))
            else:
                raise StopAsyncIteration
        if self._ended:
            outcome = self._ended.popleft()
            if isinstance(outcome, StepSuspended):
                # People can answer while other steps still run, because the record shows the request already.
                await self._show_pending(outcome)
            return outcome
        assert self._failure is not None
        raise self._failure

    async def _show_pending(self, suspended: StepSuspended) -> None:
        """Show the requests of a waiting step in the record of the run while others continue."""
        context = RunContext.find_current()
        if context is not None and (self._tasks or self._graph.has_ready):
            await context.show_pending(suspended.pending)

    def _start_ready(self) -> None:
        """Start the steps that are ready, as far as there is room."""
        if not self._is_open or self._failure is not None or self._limit == 1:
            return
        while self._limit is None or len(self._tasks) < self._limit:
            if (step := self._graph.pop_ready()) is None:
                return
            # Not the context of the step that has just ended: its variables are its own.
            work = self._run_in_task(step)
            self._tasks[step.key] = asyncio.create_task(work, context=self._context.copy())

    async def _run_in_task(self, step: FlowStep[T]) -> None:
        try:
            outcome = await self._perform(step)
        except CancelledError as error:
            if not self._is_open or self._failure is not None:
                raise
            outcome = StepFailed(step.key, error)  # the step has cancelled itself
        # In this order: the slot is free, then the outcome may make steps ready, then these start, and the caller
        # wakes up last.
        del self._tasks[step.key]
        self._record(outcome)
        self._start_ready()
        self._has_news.set()

    def _perform(self, step: FlowStep[T]) -> Awaitable[StepOutcome[T]]:
        return perform_step(step, self._graph.collect_results(step), self._clock)

    def _record(self, outcome: StepOutcome[T]) -> None:
        skipped = self._graph.record(outcome)
        if not isinstance(outcome, StepFailed) or (self._on_error != "fail_fast" and not is_fatal(outcome.error)):
            # A failed step comes before the steps that it made skip: readers see the reason first.
            self._ended.append(outcome)
            self._ended.extend(skipped)
            if isinstance(outcome, StepFailed) and self._on_error == "drain":
                self._ended.extend(self._graph.close(outcome))
        elif self._failure is None:
            self._failure = outcome.error
            self._cancel_running()

    def _cancel_running(self) -> None:
        for task in self._tasks.values():
            task.cancel()


async def _wait_for(tasks: Iterable[asyncio.Task[None]]) -> None:
    await asyncio.wait(tuple(tasks))


async def run_steps(
    steps: Iterable[FlowStep[T]],
    *,
    max_concurrency: int | None = None,
    on_error: ErrorPolicy = "fail_fast",
    clock: Clock = SYSTEM_CLOCK,
) -> dict[str, StepOutcome[T]]:
    """Run steps, and return their outcomes, in the order of the steps. See `Scheduler`.

    Args:
        steps: the steps, in any order.
        max_concurrency: number of steps that may run at once; no limit, when `None`.
        on_error: the effect of an exception of a step: `"fail_fast"`, `"drain"` or `"continue"`.
        clock: the time, for timeouts and retries.

    Raises:
        DeclarationError: when a key is used twice, a dependency is unknown, or steps depend on each other in a cycle.
        Suspended: when steps have to wait, once all that do not depend on them have ended.
        Exception: the first that a step raised, with `"fail_fast"`.
    """
    scheduler: Scheduler[T] = Scheduler(max_concurrency=max_concurrency, on_error=on_error, clock=clock)
    async with scheduler:
        scheduler.add(*steps)
        async for _ in scheduler:
            pass
    return scheduler.outcomes


async def gather_or_suspend(*runs: Coroutine[object, object, T], max_concurrency: int | None = None) -> list[T]:
    """Run coroutines, and return their results. A suspension lets the others end; a failure cancels them.

    A single coroutine runs in the task of the caller.

    Args:
        runs: the coroutines.
        max_concurrency: number of coroutines that may run at once; no limit, when `None`.

    Raises:
        Suspended: when some have to wait, with what all of them wait for.
        Exception: the first that any of them raised.
    """
    if len(runs) == 1:
        try:
            return [await runs[0]]
        except BaseExceptionGroup as group:
            if (suspended := find_suspension(group)) is None:
                raise
            raise suspended from group
    steps = (FlowStep(str(number), _to_work(run)) for number, run in enumerate(runs))
    try:
        outcomes = await run_steps(steps, max_concurrency=max_concurrency)
    finally:
        for run in runs:
            # A coroutine that was never awaited would warn when it is collected.
            run.close()  # of those that have not begun
    return [outcome.result for outcome in outcomes.values() if isinstance(outcome, StepCompleted)]


def _to_work(run: Coroutine[object, object, T]) -> Callable[[Mapping[str, T]], Coroutine[object, object, T]]:
    return lambda _: run
