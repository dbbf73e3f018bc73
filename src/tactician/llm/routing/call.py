"""One request of any kind on its way to an answer: attempts, pauses, other instances, other models."""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable
from math import inf
from typing import Generic, TypeAlias, TypeVar

from tactician.errors import ModelError, ModelTimeoutError
from tactician.events import EventEmitter
from tactician.llm.routing.lane import Lane
from tactician.llm.routing.policies import Lanes
from tactician.llm.routing.retries import Failure, failure_of, history
from tactician.llm.routing.routes import Route, Stage
from tactician.llm.routing.setup import Setup
from tactician.llm.routing.visit import Visit

RequestT = TypeVar("RequestT")
AnswerT = TypeVar("AnswerT")
Restorer: TypeAlias = Callable[[AnswerT], AnswerT]


class RoutedCall(ABC, Generic[RequestT, AnswerT]):
    """One request, from its first attempt to its answer. Use an instance once.

    A kind of calls says how a model is asked, what a request weighs, and what is wrong with an answer.

    Args:
        route: where it may go.
        request: what is asked.
        observer: what hears the events of the request besides those who hear all.
        session: the key that keeps requests together.

    Attributes:
        ends_at: its deadline.
    """

    __slots__ = (
        "_attempts", "_cancelling", "_delay", "_failed_at", "_imperfect", "_is_expired", "_lanes", "_original",
        "_reporter", "_request", "_restorer", "_route", "_session", "_setup", "_stage", "_stage_number", "_task",
        "_timeouts", "_tokens", "_trail", "_tried", "ends_at",
    )  # fmt: skip
    _attempts: int
    _timeouts: int
    _tokens: int
    _request: RequestT
    _tried: Lanes

    def __init__(
        self, setup: Setup, route: Route, request: RequestT, observer: EventEmitter | None, session: str | None
    ) -> None:
        task = asyncio.current_task()
        assert task is not None
        self.ends_at = setup.clock.monotonic() + setup.retries.deadline
        self._setup = setup
        self._reporter = setup.reporter.for_request(observer)
        self._route = route
        self._original = request
        self._session = session
        self._trail: tuple[tuple[str, Failure], ...] = ()
        self._failed_at = 0.0
        self._delay: tuple[float, str] | None = None
        self._imperfect: tuple[AnswerT, ...] = ()
        self._task = task
        self._cancelling = task.cancelling()
        self._is_expired = False
        self._go_to(0, route.stages[0], request, None)

    @abstractmethod
    def _ask(self, visit: Visit, request: RequestT) -> Awaitable[AnswerT]:
        """Makes one attempt; it gives the place of the visit back."""

    @abstractmethod
    def _count_tokens(self, request: RequestT) -> int:
        """Estimates the tokens of a request."""

    @abstractmethod
    def _allow_time(self, first: float, times: int) -> RequestT:
        """The request with so many times its first timeout, which is `first` where it says none."""

    def _adapt(self, request: RequestT, stage: Stage) -> tuple[RequestT, Restorer[AnswerT] | None]:
        """The original request made for the model of a fallback, and what makes its answer one to the original."""
        return request, None

    def _find_shortcoming(self, answer: AnswerT) -> Failure | None:
        """What is wrong with an answer that came as it should; `None` when nothing is."""
        return None

    async def run(self) -> AnswerT:
        """Makes attempts until one gives an answer worth having.

        An answer that was cut off or filtered is still better than an error, so it is the result when nothing better
        follows.

        Raises:
            ModelTimeoutError: when the deadline passes.
            ModelError: that of the last attempt, when no other is worth it.
        """
        watch = self._setup.watches.of_this_loop()
        watch.add(self)
        try:
            return await self._run()
        except asyncio.CancelledError:
            if not self._is_expired or self._task.cancelling() > self._cancelling + 1:
                raise
            failure: ModelError = self._too_late()
        except ModelError as error:
            failure = error
        finally:
            watch.discard(self)
            if self._is_expired:
                self._task.uncancel()
        if self._imperfect:
            return self._imperfect[-1]
        if self._trail:
            failure.add_note(history(self._trail))
        raise failure

    def expire(self) -> None:
        """The deadline has passed: ends whatever it is waiting for."""
        self._is_expired = True
        self._task.cancel()

    async def _run(self) -> AnswerT:
        while True:
            now = self._setup.clock.monotonic()
            if (visit := self._try_enter(now)) is None:
                visit = await self._enter(now)
            if self._reporter.is_observed:
                self._announce(visit)
            error: ModelError | None = None
            try:
                answer = await self._ask(visit, self._request)
            except ModelError as raised:
                error, failure = raised, failure_of(raised)
            else:
                if (shortcoming := self._find_shortcoming(answer)) is None:
                    return answer if self._restorer is None else self._restorer(answer)
                # It is kept, in case that nothing better comes.
                self._imperfect += (answer if self._restorer is None else self._restorer(answer),)
                failure = shortcoming
            self._count(visit.lane, failure)
            if not (await self._is_worth_another(failure, error) or self._fall_back(failure.value)):
                if error is not None:
                    raise error
                return self._imperfect[-1]

    def _try_enter(self, now: float) -> Visit | None:
        """Takes a place at a deployment, if one is free."""
        pool = self._stage.pool
        place = pool.try_enter(self._lanes, self._session, self._tokens, now, again=self._attempts > 0)
        return None if place is None else self._visit(place, now)

    async def _enter(self, began: float) -> Visit:
        """Takes a place when it is this call's turn, or at a fallback when all that it could wait for rest."""
        clock, why, now = self._setup.clock, "limits", began
        while all(lane.is_resting(now) for lane in self._lanes):
            if not self._leave_those_that_rest(now):
                why = "rest"
                break
            if (visit := self._try_enter(now)) is not None:
                return visit
        pool = self._stage.pool
        place = await pool.wait(self._lanes, self._session, self._tokens, again=self._attempts > 0)
        now = clock.monotonic()
        self._delay = now - began, why
        return self._visit(place, now)

    def _visit(self, place: tuple[Lane, int], now: float) -> Visit:
        return Visit(self._stage.pool, *place, self._tokens, now, self._setup.clock, self._reporter)

    def _announce(self, visit: Visit) -> None:
        reporter, reason = self._reporter, self._setup.policy
        try:
            if self._attempts:
                failed, failure, reason = self._tried[-1], self._trail[-1][1], "retry"
                delay = visit.entered_at - self._failed_at
                reporter.retried(failed, self._attempts, failure.value, delay, visit.lane)
            elif self._delay is not None:
                reporter.delayed(visit.lane, *self._delay)
            self._delay = None
            reporter.routed(visit.lane, "fallback" if self._stage_number and not self._attempts else reason)
        except BaseException:
            visit.left()
            raise

    def _count(self, lane: Lane, failure: Failure) -> None:
        self._attempts += 1
        self._timeouts += failure is Failure.TIMEOUT
        self._tried += (lane,)
        self._trail += ((lane.name, failure),)
        self._failed_at = self._setup.clock.monotonic()

    async def _is_worth_another(self, failure: Failure, error: ModelError | None) -> bool:
        """Whether to try the model again. If so, it returns when the time for that has come."""
        setup, now = self._setup, self._failed_at
        rule = setup.retries.rule(failure, None if error is None else error.status)
        if self._attempts >= rule.attempts:
            return False
        if failure is Failure.TIMEOUT:
            self._request = self._allow_time(setup.retries.first_timeout, self._timeouts + 1)
        if failure is Failure.CONTENT_FILTER:
            self._lanes = self._untried()  # the same filter would say the same
            return bool(self._lanes)
        self._lanes = fresh = self._fresh(now)
        if self._stage.pool.is_free(fresh, self._tokens, now):
            return True
        # A provider's Retry-After is kept by the line: the lane opens again when it is over.
        pause = 0.0 if error is not None and error.retry_after else rule.pause(self._attempts, setup.random)
        if now + pause >= self.ends_at or self._is_hopeless(self._stage.lanes):
            return False
        if pause:
            await setup.clock.sleep(pause)
        self._lanes = self._fresh(setup.clock.monotonic()) or self._stage.lanes
        return True

    def _untried(self) -> Lanes:
        return tuple(lane for lane in self._stage.lanes if lane not in self._tried)

    def _fresh(self, now: float) -> Lanes:
        """The healthy instances that this call has not tried."""
        return tuple(lane for lane in self._untried() if not lane.is_resting(now))

    def _leave_those_that_rest(self, now: float) -> bool:
        """Goes to a fallback that can be called now, if there is one.

        Raises:
            ModelTimeoutError: when there is none and the rests are longer than the call may take.
        """
        for number, stage in enumerate(self._route.stages[self._stage_number + 1 :], self._stage_number + 1):
            if not all(lane.is_resting(now) for lane in stage.lanes):
                return self._fall_back("rest", number)
        if self._is_hopeless(self._lanes):
            raise self._too_late()
        return False

    def _is_hopeless(self, lanes: Lanes) -> bool:
        """Whether all of them rest for longer than this call has time."""
        return self.ends_at < min(lane.circuit.opens_at for lane in lanes) < inf

    def _fall_back(self, reason: str, number: int | None = None) -> bool:
        """Goes to the next model, or that with this number; whether there is one."""
        number = self._stage_number + 1 if number is None else number
        if reason == Failure.INVALID or number >= len(self._route.stages):
            return False
        previous, stage = self._stage.pool.model, self._route.stages[number]
        self._go_to(number, stage, *self._adapt(self._original, stage))
        self._reporter.fell_back(previous, stage.pool.model, reason)
        return True

    def _go_to(self, number: int, stage: Stage, request: RequestT, restorer: Restorer[AnswerT] | None) -> None:
        self._stage_number, self._stage, self._lanes = number, stage, stage.lanes
        self._request, self._restorer = request, restorer
        self._tokens = self._count_tokens(request) if stage.pool.counts_tokens else 0
        self._attempts = self._timeouts = 0
        self._tried = ()

    def _too_late(self) -> ModelTimeoutError:
        name, seconds = self._route.name, self._setup.retries.deadline
        tried = history(self._trail)
        return ModelTimeoutError(f"{name}: no answer within the deadline of {seconds:g} s; {tried}", model=name)
