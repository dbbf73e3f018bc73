"""What all calls of a router have in common."""

from __future__ import annotations

from dataclasses import dataclass

from tactician.clock import Clock
from tactician.llm.routing.deadlines import Watches
from tactician.llm.routing.estimates import Estimate
from tactician.llm.routing.reports import Reporter
from tactician.llm.routing.retries import ModelRetryPolicy, Random


@dataclass(frozen=True, slots=True)
class Setup:
    """What all calls of a router have in common. `policy` is what events call it."""

    retries: ModelRetryPolicy
    clock: Clock
    watches: Watches
    random: Random
    estimate: Estimate
    policy: str
    reporter: Reporter
