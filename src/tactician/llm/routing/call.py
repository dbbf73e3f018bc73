"""Request of any kind on its way to an answer: attempts, pauses, other instances, fallback models."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable
from math import inf
from typing import Generic, TypeAlias, TypeVar

from tactician.errors import ModelConnectionError, ModelError, ModelTimeoutError
from tactician.events.bus import EventEmitter
from tactician.llm.remote import DEFAULT_TIMEOUT
from tactician.llm.routing.attempt import Attempt, OpenStream
from tactician.llm.routing.call_settings import CallSettings
from tactician.llm.routing.deployment_state import DeploymentState
from tactician.llm.routing.policies import DeploymentStates
from tactician.llm.routing.retries import Failure, classify_failure, format_attempts
from tactician.llm.routing.routes import Route, Stage
from tactician.llm.time_limit import LimitedCall
from tactician.resilience.backoff import RetryRule

RequestT = TypeVar("RequestT")
AnswerT = TypeVar("AnswerT")
Restorer: TypeAlias = Callable[[AnswerT], AnswerT]


class RoutedCall(ABC, Generic[RequestT, AnswerT]):
    """Request from its first attempt to its answer. Use an instance once.

    A subclass says how a model is called, how many tokens a request needs, and which answers are failures.

    Args:
        route: the deployments that may serve the request.
        request: the request.
        observer: an emitter that receives the events of this request, besides the router's listeners.
        session: the key that keeps requests together.
    """

    __slots__ = (
        "_attempted",
        "_attempts",
        "_delay",
        "_failed_at",
        "_failures",
        "_imperfect",
        "_limited",
        "_original",
        "_reporter",
        "_request",
        "_restorer",
        "_route",
        "_session",
        "_settings",
        "_stage",
        "_stage_number",
        "_states",
        "_timeouts",
        "_tokens",
    )  # fmt: skip
    _attempts: int
    _limited: LimitedCall
    _timeouts: int
    _tokens: int
    _request: RequestT
    _attempted: DeploymentStates

    def __init__(
        self,
        settings: CallSettings,
        route: Route,
        request: RequestT,
        observer: EventEmitter | None,
        session: str | None,
    ) -> None:
        self._settings = settings
        self._reporter = settings.reporter if observer is None else settings.reporter.for_request(observer)
        self._route = route
        self._original = request
        self._session = session
        self._failures: tuple[tuple[str, Failure], ...] = ()
        self._failed_at = 0.0
        self._delay: tuple[float, str] | None = None
        self._imperfect: tuple[AnswerT, ...] = ()
        self._enter_stage(0, route.stages[0], request, None)

    @abstractmethod
    def _send(self, attempt: Attempt, request: RequestT) -> Awaitable[AnswerT]:
        """Call the model of an attempt."""

    @abstractmethod
    def _count_tokens(self, request: RequestT) -> int:
        """Estimate the tokens of a request."""

    @abstractmethod
    def _extend_timeout(self, first: float, times: int) -> RequestT:
        """Return the request with `times` its original timeout, or `times` `first` if it has none."""

    def _adapt(self, request: RequestT, stage: Stage) -> tuple[RequestT, Restorer[AnswerT] | None]:
        """Return the original request adapted to a fallback, and a function that restores its answer."""
        return request, None

    def _classify_response(self, answer: AnswerT) -> Failure | None:
        """Return the failure that an answer amounts to, or `None` if it is good."""
        return None

    def _complete(self, answer: AnswerT) -> AnswerT:
        """Return an answer with what earlier, imperfect answers have used."""
        return answer

    async def run(self) -> AnswerT:
        """Make attempts until a good answer arrives.

        An answer that was cut off or filtered is better than an error, so it is the result if nothing better follows.

        Raises:
            ModelTimeoutError: when the deadline passes.
            ModelError: the error of the last attempt, when no other would help.
        """
        try:
            with LimitedCall(self._settings.time_limit) as self._limited:
                answer = await self._run()
            return self._complete(answer) if self._imperfect else answer
        except TimeoutError:
            if not self._limited.is_expired:
                raise
            failure: ModelError = self._create_deadline_error()
        except ModelError as error:
            failure = error
        if self._imperfect:
            return self._complete(self._imperfect[-1])
        if self._failures:
            failure.add_note(format_attempts(self._failures))
        failure.is_exhausted = self._is_exhausted(failure)
        raise failure

    def _is_exhausted(self, error: ModelError) -> bool:
        """Return whether the router retries such an error, so that nobody else has to."""
        return self._select_rule(classify_failure(error), error.status).attempts > 1

    def _select_rule(self, failure: Failure, status: int | None) -> RetryRule:
        """Return the retry rule for a failure."""
        return self._settings.retries.select_rule(failure, status)

    async def _run(self) -> AnswerT:
        while True:
            now = self._settings.clock.monotonic()
            if (attempt := self._try_start(now)) is None:
                attempt = await self._wait_and_start(now)
            if self._reporter.is_observed:
                self._report_attempt(attempt)
            error: ModelError | None = None
            try:
                answer = await self._send(attempt, self._request)
            except ModelError as raised:
                error, failure = raised, attempt.record_failure(raised)
            except BaseException:
                attempt.release()
                raise
            else:
                if not isinstance(answer, OpenStream):  # a stream keeps its slot until its end
                    answer = attempt.record_response(answer)  # type: ignore[type-var]  # all others have their usage
                if (problem := self._classify_response(answer)) is None:
                    return answer if self._restorer is None else self._restorer(answer)
                # The result, if no later attempt does better.
                self._imperfect += (answer if self._restorer is None else self._restorer(answer),)
                failure = problem
            self._record_failure(attempt.state, failure)
            if not (await self._prepare_retry(failure, error) or self._fall_back(failure.value)):
                if error is not None:
                    raise error
                return self._imperfect[-1]

    def _try_start(self, now: float) -> Attempt | None:
        """Start an attempt if a deployment can take it now."""
        pool = self._stage.pool
        place = pool.try_acquire(self._states, self._session, self._tokens, now, is_retry=self._attempts > 0)
        return None if place is None else Attempt(pool, *place, self._tokens, now, self._settings.clock, self._reporter)

    async def _wait_and_start(self, started: float) -> Attempt:
        """Start an attempt when it is this call's turn, or at a fallback if all deployments cool down."""
        now = started
        while True:
            reason = "limits"
            while all(state.is_cooling_down(now) for state in self._states):
                if not self._leave_cooling_model(now):
                    reason = "cooldown"
                    break
                if (attempt := self._try_start(now)) is not None:
                    return attempt
            pool = self._stage.pool
            place = await pool.acquire(
                self._states,
                self._session,
                self._tokens,
                is_retry=self._attempts > 0,
                can_leave=self._can_leave,
            )
            now = self._settings.clock.monotonic()
            if place is not None:
                self._delay = now - started, reason
                return Attempt(pool, *place, self._tokens, now, self._settings.clock, self._reporter)

    def _report_attempt(self, attempt: Attempt) -> None:
        reporter, reason = self._reporter, self._settings.policy
        try:
            if self._attempts:
                failed, failure, reason = self._attempted[-1], self._failures[-1][1], "retry"
                delay = attempt.started_at - self._failed_at
                reporter.report_retry(failed, self._attempts, failure.value, delay, attempt.state)
            elif self._delay is not None:
                reporter.report_delay(attempt.state, *self._delay)
            self._delay = None
            reporter.report_route(attempt.state, "fallback" if self._stage_number and not self._attempts else reason)
        except BaseException:
            attempt.release()
            raise

    def _record_failure(self, state: DeploymentState, failure: Failure) -> None:
        self._attempts += 1
        self._timeouts += failure is Failure.TIMEOUT
        self._attempted += (state,)
        self._failures += ((state.name, failure),)
        self._failed_at = self._settings.clock.monotonic()

    async def _prepare_retry(self, failure: Failure, error: ModelError | None) -> bool:
        """Return whether to try the model again, after the pause before that attempt."""
        settings, now = self._settings, self._failed_at
        rule = self._select_rule(failure, None if error is None else error.status)
        if self._attempts >= rule.attempts:
            return False
        if failure is Failure.TIMEOUT:
            self._set_timeout(self._timeouts + 1)
        if failure is Failure.CONTENT_FILTER:
            self._states = self._list_untried()  # the same filter would block it again
            return bool(self._states)
        self._states = fresh = self._list_healthy_untried(now)
        if self._stage.pool.is_available(fresh, self._tokens, now):
            return True
        # The deployment waits for a provider's Retry-After itself, so the call needs no pause of its own.
        pause = 0.0 if error is not None and error.retry_after else rule.draw_delay(self._attempts, settings.random)
        if now + pause >= self._limited.ends_at or self._outlasts_deadline(self._stage.states):
            return False
        if all(state.is_unreachable(now) for state in self._stage.states):
            return False
        if pause:
            await settings.clock.sleep(pause)
        self._states = self._list_healthy_untried(settings.clock.monotonic()) or self._stage.states
        return True

    def _list_untried(self) -> DeploymentStates:
        return tuple(state for state in self._stage.states if state not in self._attempted)

    def _list_healthy_untried(self, now: float) -> DeploymentStates:
        """Return the healthy deployments that this call has not tried."""
        return tuple(state for state in self._list_untried() if not state.is_cooling_down(now))

    def _leave_cooling_model(self, now: float) -> bool:
        """Switch to a fallback that can be called now, and return whether that was possible.

        Raises:
            ModelConnectionError: when no fallback is left, and no deployment can be reached.
            ModelTimeoutError: when no fallback is left, and every cooldown ends after the deadline.
        """
        if (number := self._find_healthy_fallback(now)) is not None:
            return self._fall_back("cooldown", number)
        if all(state.is_unreachable(now) for state in self._states):
            raise self._create_unreachable_error(now)
        if self._outlasts_deadline(self._states):
            raise self._create_deadline_error()
        return False

    def _find_healthy_fallback(self, now: float) -> int | None:
        """Return the number of the next stage that does not cool down; `None` when all do."""
        following = enumerate(self._route.stages[self._stage_number + 1 :], self._stage_number + 1)
        healthy = (n for n, stage in following if not all(state.is_cooling_down(now) for state in stage.states))
        return next(healthy, None)

    def _can_leave(self, now: float) -> bool:
        """Return whether the call need not wait while its deployments cool down."""
        has_fallback = self._find_healthy_fallback(now) is not None
        return has_fallback or all(state.is_unreachable(now) for state in self._states)

    def _outlasts_deadline(self, states: DeploymentStates) -> bool:
        """Return whether the cooldowns of all these deployments end after the deadline."""
        return self._limited.ends_at < min(state.breaker.available_at for state in states) < inf

    def _fall_back(self, reason: str, number: int | None = None) -> bool:
        """Switch to the next fallback, or to stage `number`, and return whether that was possible."""
        number = self._stage_number + 1 if number is None else number
        if reason == Failure.INVALID or number >= len(self._route.stages):
            return False
        previous, stage = self._stage.pool.model, self._route.stages[number]
        self._enter_stage(number, stage, *self._adapt(self._original, stage))
        self._reporter.report_fallback(previous, stage.pool.model, reason)
        return True

    def _enter_stage(self, number: int, stage: Stage, request: RequestT, restorer: Restorer[AnswerT] | None) -> None:
        self._stage_number, self._stage, self._states = number, stage, stage.states
        self._request, self._restorer = request, restorer
        if self._settings.retries.first_timeout is not None:
            self._set_timeout(1)
        self._tokens = self._count_tokens(request) if stage.pool.has_token_limit else 0
        self._attempts = self._timeouts = 0
        self._attempted = ()

    def _set_timeout(self, times: int) -> None:
        first = self._settings.retries.first_timeout
        self._request = self._extend_timeout(DEFAULT_TIMEOUT if first is None else first, times)

    def _create_unreachable_error(self, now: float) -> ModelConnectionError:
        name = ", ".join(state.name for state in self._states)
        seconds = min(state.breaker.available_at for state in self._states) - now
        message = f"{name}: cannot be reached; the circuit is open, and the next attempt is in {seconds:.0f} s"
        return ModelConnectionError(message, model=self._route.name)

    def _create_deadline_error(self) -> ModelTimeoutError:
        name, seconds = self._route.name, self._settings.retries.deadline
        summary = format_attempts(self._failures)
        return ModelTimeoutError(f"{name}: no answer within the deadline of {seconds:g} s; {summary}", model=name)
