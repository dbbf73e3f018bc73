"""Settings and services that all calls of a router share."""

from __future__ import annotations

from tactician.clock import Clock
from tactician.frozen import frozen
from tactician.llm.routing.reporter import Reporter
from tactician.llm.routing.retries import ModelRetryPolicy
from tactician.llm.routing.token_estimate import Estimate
from tactician.llm.time_limit import TimeLimit
from tactician.resilience.backoff import Random


@frozen
class CallSettings:
    """Settings and services that all calls of a router share. `policy` is the policy's name in events."""

    retries: ModelRetryPolicy
    clock: Clock
    time_limit: TimeLimit
    random: Random
    estimate: Estimate
    policy: str
    reporter: Reporter
