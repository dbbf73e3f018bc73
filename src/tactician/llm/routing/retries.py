"""Kinds of failures, and the policies by which calls are retried."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from enum import StrEnum

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
from tactician.frozen import frozen
from tactician.grammar import format_count
from tactician.resilience.backoff import RetryRule


class Failure(StrEnum):
    """Kind of failure of an attempt."""

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


RETRY_IMMEDIATELY = RetryRule(base=0.0)
RETRY_ONCE = RetryRule(attempts=2, base=0.0)
NO_RETRY = RetryRule(attempts=1)


@frozen(kw_only=True)
class ModelRetryPolicy:
    """Retry rules by kind of failure. Attempts count anew for each fallback model of a call.

    Attributes:
        rate_limit: 429, 529. A provider's `Retry-After` replaces the rule's pause.
        timeout: no answer in time, 408. Each further attempt gets the first timeout added to its own.
        server: 5xx.
        connection: the provider could not be reached, or closed the connection.
        content_filter: the provider's filter blocked the answer: only instances that were not tried yet are.
        truncated: an object or tool call was cut off at `max_tokens`. Plain text is returned as it is.
        malformed: the answer did not have the provider's format.
        deadline: seconds for all waiting and all attempts of a call; for a stream, until its first delta.
        first_timeout: the timeout of the first attempt in seconds, if the call's options have none; if `None`, the
            timeout of the model, which is 120 s for remote models.
        statuses: the only HTTP statuses that are retried; if `None`, the rules decide.
    """

    rate_limit: RetryRule = RetryRule()
    timeout: RetryRule = RETRY_IMMEDIATELY
    server: RetryRule = RetryRule()
    connection: RetryRule = RetryRule()
    content_filter: RetryRule = RETRY_IMMEDIATELY
    truncated: RetryRule = RETRY_ONCE
    malformed: RetryRule = RETRY_ONCE
    deadline: float = 300.0
    first_timeout: float | None = None
    statuses: frozenset[int] | None = None

    @classmethod
    def with_attempts(cls, attempts: int) -> ModelRetryPolicy:
        """Return the default rules, with so many attempts at calls that fail for transient reasons."""
        usual = cls()
        rules = {name: replace(getattr(usual, name), attempts=attempts) for name in _PASSING}
        return replace(usual, **rules)

    def select_rule(self, failure: Failure, status: int | None = None) -> RetryRule:
        """Return the rule for a failure. A refused request is sent again only if `statuses` says so."""
        usual = NO_RETRY
        if self.statuses is not None and status is not None:
            if status not in self.statuses:
                return NO_RETRY
            usual = self.server
        rule: RetryRule = getattr(self, failure.value, usual)
        return rule


SINGLE_ATTEMPT = ModelRetryPolicy(
    rate_limit=NO_RETRY,
    timeout=NO_RETRY,
    server=NO_RETRY,
    connection=NO_RETRY,
    content_filter=NO_RETRY,
    truncated=NO_RETRY,
    malformed=NO_RETRY,
)
"""Policy of a single attempt."""
_PASSING = ("rate_limit", "timeout", "server", "connection")
PASSING_FAILURES = frozenset(map(Failure, _PASSING))
"""Failures that often pass by themselves."""
# The first match wins. The text of a message never decides.
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
# Failures for which the deployment is to blame, not the request.
DEPLOYMENT_FAULTS = frozenset(
    {Failure.TIMEOUT, Failure.SERVER, Failure.CONNECTION, Failure.MALFORMED, Failure.REFUSED, Failure.OTHER}
)


def classify_failure(error: ModelError) -> Failure:
    """Return the kind of failure of an error, by its type, else by its status."""
    for kind, failure in _KINDS:
        if isinstance(error, kind):
            return failure
    return _classify_status(error.status)


def _classify_status(status: int | None) -> Failure:
    if status in (429, 529):
        return Failure.RATE_LIMIT
    if status == 408:
        return Failure.TIMEOUT
    if status is not None and status >= 500:
        return Failure.SERVER
    return Failure.INVALID if status is not None and status >= 400 else Failure.OTHER


def is_deployment_fault(failure: Failure, error: ModelError) -> bool:
    """Return whether the deployment is to blame. A deployment that sends `Retry-After` is busy, not failing."""
    return failure in DEPLOYMENT_FAULTS or (failure is Failure.RATE_LIMIT and not error.retry_after)


def format_attempts(attempts: Sequence[tuple[str, Failure]]) -> str:
    """Format the attempts of a call: the deployments, and how each attempt ended."""
    if not attempts:
        return "no attempt was made"
    described = ", ".join(f"{name} ({failure})" for name, failure in attempts)
    return f"{format_count(len(attempts), 'attempt')}: {described}"
