"""Kinds of failures, and the policies by which calls are retried."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TypeAlias

from tactician.errors import (
    AuthenticationError,
    ContentFilterError,
    ContextLengthError,
    MalformedResponseError,
    ModelConnectionError,
    ModelError,
    ModelNotFoundError,
    ModelRequestError,
    ModelServerError,
    ModelTimeoutError,
    RateLimitError,
    UnsupportedFeatureError,
)
from tactician.llm.model import ModelRequest, ModelResponse

Random: TypeAlias = Callable[[], float]
"""A number from 0 up to, but not including, 1."""


class Failure(StrEnum):
    """The ways in which an attempt fails."""

    RATE_LIMIT = "rate_limit"
    TIMEOUT = "timeout"
    SERVER = "server"
    CONNECTION = "connection"
    CONTENT_FILTER = "content_filter"
    TRUNCATED = "truncated"
    MALFORMED = "malformed"
    REFUSED = "refused"
    UNFIT = "unfit"
    INVALID = "invalid"
    OTHER = "other"


@dataclass(frozen=True, slots=True, kw_only=True)
class RetryRule:
    """How often a call is tried, and how long it waits before it is tried again at the same instance.

    The pause is AWS's "full jitter" (M. Brooker, *Exponential Backoff And Jitter*, 2015): anything from nothing up to
    `min(longest, base * factor ** (attempt - 1))`, so that those who failed together do not come back together.

    Attributes:
        attempts: how often a call may have been tried, in all, when this failure ends it; 1 is never again.
        base: seconds that the first pause has at most.
        factor: each pause may be longer by this than the one before.
        longest: seconds that no pause exceeds.
    """

    attempts: int = 3
    base: float = 1.0
    factor: float = 2.0
    longest: float = 60.0

    def pause(self, attempt: int, random: Random) -> float:
        """Seconds to wait after so many attempts."""
        return random() * min(self.longest, self.base * self.factor ** min(attempt - 1, 64))


AT_ONCE = RetryRule(base=0.0)
ONCE_MORE = RetryRule(attempts=2, base=0.0)
NEVER = RetryRule(attempts=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelRetryPolicy:
    """What is tried again, by what went wrong. Attempts are counted for each model of a call's fallbacks anew.

    Attributes:
        rate_limit: 429, 529. Where the provider says `Retry-After`, that and not the rule's pause.
        timeout: no answer in time, 408. Each further attempt gets its first timeout once more.
        server: 5xx.
        connection: the provider could not be reached, or broke off.
        content_filter: the provider's filter stopped it: only instances that were not asked yet are tried.
        truncated: an object or tool call that was cut off at `max_tokens`. Plain text is given back as it is.
        malformed: what came was not the provider's own format.
        deadline: seconds for all waiting and all attempts of a call, of a stream until its first delta.
        first_timeout: seconds to which later attempts add, where the call's options say none.
        statuses: HTTP statuses worth another attempt, and no others are; what the rules say, when `None`.
    """

    rate_limit: RetryRule = RetryRule()
    timeout: RetryRule = AT_ONCE
    server: RetryRule = RetryRule()
    connection: RetryRule = RetryRule()
    content_filter: RetryRule = AT_ONCE
    truncated: RetryRule = ONCE_MORE
    malformed: RetryRule = ONCE_MORE
    deadline: float = 300.0
    first_timeout: float = 120.0
    statuses: frozenset[int] | None = None

    @classmethod
    def with_attempts(cls, attempts: int) -> ModelRetryPolicy:
        """The usual rules, but so many attempts at calls that fail for reasons which pass."""
        usual = cls()
        rules = {name: replace(getattr(usual, name), attempts=attempts) for name in _PASSING}
        return replace(usual, **rules)

    def rule(self, failure: Failure, status: int | None = None) -> RetryRule:
        """The rule for such a failure. A request that was refused is sent again only if `statuses` says so."""
        usual = NEVER
        if self.statuses is not None and status is not None:
            if status not in self.statuses:
                return NEVER
            usual = self.server
        rule: RetryRule = getattr(self, failure.value, usual)
        return rule


JUST_ONCE = ModelRetryPolicy(
    rate_limit=NEVER,
    timeout=NEVER,
    server=NEVER,
    connection=NEVER,
    content_filter=NEVER,
    truncated=NEVER,
    malformed=NEVER,
)
"""One attempt and no other."""
_PASSING = ("rate_limit", "timeout", "server", "connection")
# The first that fits. Never by what a message says.
_KINDS: tuple[tuple[type[ModelError], Failure], ...] = (
    (RateLimitError, Failure.RATE_LIMIT),
    (ModelTimeoutError, Failure.TIMEOUT),
    (ModelServerError, Failure.SERVER),
    (ModelConnectionError, Failure.CONNECTION),
    (ContentFilterError, Failure.CONTENT_FILTER),
    (MalformedResponseError, Failure.MALFORMED),
    (AuthenticationError, Failure.REFUSED),
    (ModelNotFoundError, Failure.REFUSED),
    (ContextLengthError, Failure.UNFIT),
    (UnsupportedFeatureError, Failure.UNFIT),
    (ModelRequestError, Failure.INVALID),
)
# What tells that something is wrong with the instance, not with the request.
AT_FAULT = frozenset(
    {Failure.TIMEOUT, Failure.SERVER, Failure.CONNECTION, Failure.MALFORMED, Failure.REFUSED, Failure.OTHER}
)


def failure_of(error: ModelError) -> Failure:
    """What kind of failure an error is, by its type, else by its status."""
    for kind, failure in _KINDS:
        if isinstance(error, kind):
            return failure
    return _by_status(error.status)


def _by_status(status: int | None) -> Failure:
    if status in (429, 529):
        return Failure.RATE_LIMIT
    if status == 408:
        return Failure.TIMEOUT
    if status is not None and status >= 500:
        return Failure.SERVER
    return Failure.INVALID if status is not None and status >= 400 else Failure.OTHER


def is_at_fault(failure: Failure, error: ModelError) -> bool:
    """Whether the instance is to blame. One that says when to come back is busy, and not failing."""
    return failure in AT_FAULT or (failure is Failure.RATE_LIMIT and not error.retry_after)


def find_shortcoming(response: ModelResponse, request: ModelRequest) -> Failure | None:
    """What is wrong with an answer that came as it should; `None` when nothing is."""
    if response.finish_reason == "content_filter":
        return Failure.CONTENT_FILTER
    if response.finish_reason == "length" and (request.output is not None or response.message.tool_calls):
        return Failure.TRUNCATED
    return None


def history(attempts: Sequence[tuple[str, Failure]]) -> str:
    """What was tried, in words: the deployments, and how each attempt ended."""
    if not attempts:
        return "no attempt was made"
    told = ", ".join(f"{name} ({failure})" for name, failure in attempts)
    return f"{len(attempts)} attempt{'s' if len(attempts) > 1 else ''}: {told}"
