"""State of a deployment: limits, health and totals."""

from __future__ import annotations

from math import inf

from tactician.errors import ModelError
from tactician.llm.routing.deployment import CallLimits, Deployment, DeploymentStatus
from tactician.llm.routing.retries import Failure, is_deployment_fault
from tactician.llm.usage import NO_USAGE, Usage
from tactician.resilience.circuit_breaker import CircuitBreaker, CircuitBreakerPolicy
from tactician.resilience.rate_limiter import RateLimiter

# Timers and sums of floats are not exact; differences below a nanosecond do not matter.
INSTANT = 1e-9
_TOKEN_BURST = 1.0
_LONGEST_WAIT_FOR_CONNECTION = 5.0


class DeploymentState:
    """Limits, health and totals of a deployment, as the router sees them.

    Attributes:
        name: the deployment's name, `instance:model`.
        position: index among the deployments of the same model.
        last_call: the number of the newest call; calls count from 1.
        in_flight: running calls.
    """

    __slots__ = (
        "_answers",
        "_capacity",
        "_failure",
        "_latency",
        "_seconds",
        "_starts",
        "_tokens",
        "breaker",
        "deployment",
        "failures",
        "in_flight",
        "instance",
        "last_call",
        "model",
        "name",
        "position",
        "requests",
        "usage",
    )  # fmt: skip

    def __init__(
        self, deployment: Deployment, position: int, limits: CallLimits, circuit_breaker: CircuitBreakerPolicy
    ) -> None:
        self.deployment = deployment
        self.instance = deployment.instance
        self.model = deployment.model
        self.name = deployment.name
        self.position = position
        self.breaker = CircuitBreaker(circuit_breaker)
        self.last_call = self.in_flight = self.requests = self.failures = 0
        self.usage = NO_USAGE
        self._answers, self._seconds = 0, 0.0
        self._latency: float | None = None
        self._failure: str | None = None
        self._capacity = deployment.max_concurrency or limits.max_concurrency
        rate = deployment.requests_per_second or limits.requests_per_second
        self._starts = RateLimiter(rate) if rate is not None and rate != inf else None
        tokens = deployment.tokens_per_second or limits.tokens_per_second
        self._tokens = RateLimiter(tokens, _TOKEN_BURST) if tokens is not None and tokens != inf else None

    def __repr__(self) -> str:
        return f"DeploymentState({self.name!r})"

    @property
    def has_token_limit(self) -> bool:
        """`True` if tokens are limited."""
        return self._tokens is not None

    def is_cooling_down(self, now: float) -> bool:
        """Return whether calls are kept away, after failures or because the provider asked for it."""
        return self.breaker.available_at > now

    def is_unreachable(self, now: float) -> bool:
        """Return whether the last call could not connect, and the next trial is too far away to wait for."""
        if self._failure != Failure.CONNECTION.value:
            return False
        return _LONGEST_WAIT_FOR_CONNECTION < self.breaker.available_at - now < inf

    def available_at(self, now: float, tokens: int) -> float:
        """Return when a call of so many tokens may start, or `inf` if a running call has to end first."""
        if self.in_flight >= self._capacity:
            return inf
        at: float = self.breaker.available_at
        if self._starts is not None:
            at = max(at, self._starts.available_at(now))
        if self._tokens is not None:
            at = max(at, self._tokens.available_at(now, tokens))
        return at

    def start(self, now: float, tokens: int) -> None:
        """Count a call that starts; `last_call` is its number."""
        self.in_flight += 1
        self.last_call += 1
        self.requests += 1
        if self._starts is not None:
            self._starts.consume(now)
        if self._tokens is not None:
            self._tokens.consume(now, tokens)
        if self.breaker.is_open:
            self.breaker.begin_trial(self.last_call)

    def cancel_start(self, call_number: int, tokens: int) -> None:
        """Undo the start of a call that was never sent."""
        self.requests -= 1
        # A later start already keeps its distance: undoing this start would allow another too close to that.
        if self._starts is not None and call_number == self.last_call:
            self._starts.adjust(-1)
        self._adjust_tokens(-tokens)
        self.release(call_number)

    def record_response(self, call_number: int, usage: Usage, seconds: float, tokens: int) -> bool:
        """Count an answer, correct its token estimate, and return whether it closed the circuit."""
        self.in_flight -= 1
        self._answers += 1
        self._seconds += seconds
        self._latency, self._failure = seconds, None
        self.usage = self.usage + usage
        if self._tokens is not None:
            self._tokens.adjust(usage.total_tokens - tokens)
        return self.breaker.record_success(call_number)

    def record_failure(
        self, call_number: int, error: ModelError, kind: Failure, now: float, tokens: int
    ) -> float | None:
        """Count a failure, and return the cooldown if it opened the circuit."""
        self.in_flight -= 1
        self.failures += 1
        self._failure = kind.value
        breaker, retry_after = self.breaker, error.retry_after or 0.0
        if error.status is not None:  # the provider refused the request, and used no tokens
            self._adjust_tokens(-tokens)
        if is_deployment_fault(kind, error) or (retry_after and breaker.is_trial(call_number)):
            return breaker.record_failure(call_number, now, retry_after)
        breaker.end_trial(call_number)
        breaker.hold(now + retry_after)
        return None

    def release(self, call_number: int) -> None:
        """Count a call that ended without a verdict: it was cancelled, or its request was at fault."""
        self.in_flight -= 1
        self.breaker.end_trial(call_number)

    def status(self, now: float, waiting: int = 0) -> DeploymentStatus:
        """Return the status of the deployment; `waiting` is the number of calls that wait for its model."""
        available_at, answers = self.breaker.available_at, self._answers
        return DeploymentStatus(
            instance=self.instance,
            model=self.model,
            kind=self.deployment.kind,
            in_flight=self.in_flight,
            waiting=waiting,
            max_concurrency=self._capacity,
            requests_per_second=None if self._starts is None else self._starts.rate,
            tokens_per_second=None if self._tokens is None else self._tokens.rate,
            is_open=self.breaker.is_open,
            requests=self.requests,
            answers=answers,
            failures=self.failures,
            failure=self._failure,
            cooldown_until=available_at if available_at > now else None,
            cooldown_seconds=max(0.0, available_at - now),
            usage=self.usage,
            latency=self._latency,
            average_latency=self._seconds / answers if answers else None,
        )

    def _adjust_tokens(self, tokens: int) -> None:
        if self._tokens is not None:
            self._tokens.adjust(tokens)
