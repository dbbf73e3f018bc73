"""One deployment at work: its limits, its health and its totals."""

from __future__ import annotations

from math import inf

from tactician.errors import ModelError
from tactician.llm.routing.circuit import Circuit, RestPolicy
from tactician.llm.routing.deployment import CallLimits, Deployment, DeploymentStatus
from tactician.llm.routing.meter import Meter
from tactician.llm.routing.retries import Failure, is_at_fault
from tactician.llm.usage import NO_USAGE, Usage

# Timers and sums of floats are not exact; nothing that matters here happens within a nanosecond.
INSTANT = 1e-9
_TOKEN_BURST = 1.0


class Lane:
    """What a router knows of one deployment.

    Attributes:
        name: the deployment's, `instance:model`.
        position: its place among those that serve the same model.
        grants: how many calls were ever let in; the newest one's number.
        in_flight: calls that are under way.
    """

    __slots__ = (
        "_answers", "_capacity", "_failure", "_latency", "_seconds", "_starts", "_tokens", "circuit", "deployment",
        "failures", "grants", "in_flight", "instance", "model", "name", "position", "requests", "usage",
    )  # fmt: skip

    def __init__(self, deployment: Deployment, position: int, limits: CallLimits, rests: RestPolicy) -> None:
        self.deployment = deployment
        self.instance = deployment.instance
        self.model = deployment.model
        self.name = deployment.name
        self.position = position
        self.circuit = Circuit(rests)
        self.grants = self.in_flight = self.requests = self.failures = 0
        self.usage = NO_USAGE
        self._answers, self._seconds = 0, 0.0
        self._latency: float | None = None
        self._failure: str | None = None
        self._capacity = deployment.max_concurrency or limits.max_concurrency
        rate = deployment.requests_per_second or limits.requests_per_second
        self._starts = Meter(rate) if rate is not None and rate != inf else None
        tokens = deployment.tokens_per_second or limits.tokens_per_second
        self._tokens = Meter(tokens, _TOKEN_BURST) if tokens is not None and tokens != inf else None

    def __repr__(self) -> str:
        return f"Lane({self.name!r})"

    @property
    def counts_tokens(self) -> bool:
        """Whether tokens are limited here."""
        return self._tokens is not None

    def is_resting(self, now: float) -> bool:
        """Whether it may not be called because it failed, or asked to be left alone."""
        return self.circuit.opens_at > now

    def opens_at(self, now: float, tokens: int) -> float:
        """When a call of so many tokens may start; `inf` when that depends on a call that is under way."""
        if self.in_flight >= self._capacity:
            return inf
        at: float = self.circuit.opens_at
        if self._starts is not None:
            at = max(at, self._starts.opens_at(now))
        if self._tokens is not None:
            at = max(at, self._tokens.opens_at(now, tokens))
        return at

    def start(self, now: float, tokens: int) -> None:
        """Lets a call in; `grants` is its number."""
        self.in_flight += 1
        self.grants += 1
        self.requests += 1
        if self._starts is not None:
            self._starts.take(now)
        if self._tokens is not None:
            self._tokens.take(now, tokens)
        if self.circuit.is_down:
            self.circuit.begin_trial(self.grants)

    def undo(self, grant: int, tokens: int) -> None:
        """Takes a start back whose call was never made."""
        self.requests -= 1
        # A later start stood its distance from this one already: giving the place back would bring two too close.
        if self._starts is not None and grant == self.grants:
            self._starts.correct(-1)
        self._correct(-tokens)
        self.left(grant)

    def answered(self, grant: int, usage: Usage, seconds: float, tokens: int) -> bool:
        """Counts an answer, whose tokens were estimated; whether that ended a rest."""
        self.in_flight -= 1
        self._answers += 1
        self._seconds += seconds
        self._latency, self._failure = seconds, None
        self.usage = self.usage + usage
        if self._tokens is not None:
            self._tokens.correct(usage.total_tokens - tokens)
        return self.circuit.succeeded(grant)

    def failed(self, grant: int, error: ModelError, kind: Failure, now: float, tokens: int) -> float | None:
        """Counts a failure; for how many seconds the deployment rests now, if that is news."""
        self.in_flight -= 1
        self.failures += 1
        self._failure = kind.value
        circuit, retry_after = self.circuit, error.retry_after or 0.0
        if error.status is not None:  # the provider refused it, and used no tokens
            self._correct(-tokens)
        if is_at_fault(kind, error) or (retry_after and circuit.is_trial(grant)):
            return circuit.failed(grant, now, retry_after)
        circuit.end_trial(grant)
        circuit.hold(now + retry_after)
        return None

    def left(self, grant: int) -> None:
        """Counts a call that ended without a verdict: it was cancelled, or nothing was wrong with the deployment."""
        self.in_flight -= 1
        self.circuit.end_trial(grant)

    def status(self, now: float) -> DeploymentStatus:
        """How it is doing."""
        opens_at, answers = self.circuit.opens_at, self._answers
        return DeploymentStatus(
            instance=self.instance,
            model=self.model,
            kind=self.deployment.kind,
            in_flight=self.in_flight,
            requests=self.requests,
            answers=answers,
            failures=self.failures,
            failure=self._failure,
            resting_until=opens_at if opens_at > now else None,
            resting_seconds=max(0.0, opens_at - now),
            usage=self.usage,
            latency=self._latency,
            average_latency=self._seconds / answers if answers else None,
        )

    def _correct(self, tokens: int) -> None:
        if self._tokens is not None:
            self._tokens.correct(tokens)
