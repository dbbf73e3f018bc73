"""Policies of callers: retries, the circuit breaker's defaults, and the choice among providers."""

from __future__ import annotations

from typing import Final, Literal, TypeAlias

from tactician.amounts import Count, Delay
from tactician.frozen import frozen
from tactician.resilience.backoff import draw_backoff
from tactician.resilience.circuit_breaker import CircuitBreakerPolicy

ACCEPT_WITHIN: Final = 10.0
"""Seconds for which a caller waits for the acceptance of a request."""
MESH_BREAKER: Final = CircuitBreakerPolicy(failure_threshold=5, window=60.0, cooldown=300.0, max_cooldown=300.0)
"""Five failures within a minute open the circuit of a node for five minutes."""


@frozen
class Retries:
    """Retries of a request that a node has not accepted, because the node or the broker does not answer.

    A request that is sent again has the same id, so that it is the same request. A failure of the work itself is never
    tried again.

    Attributes:
        count: number of retries; 0 for none.
        base: maximum seconds of the first pause.
        longest: maximum seconds of any pause.
    """

    count: Count = 3
    base: Delay = 5.0
    longest: Delay = 60.0

    def draw_delay(self, attempt: int) -> float:
        """Return the seconds to wait after so many attempts."""
        return draw_backoff(attempt, base=self.base, factor=2.0, longest=self.longest)


@frozen
class StickyChoice:
    """Choice of the same node for all inputs with the same value in a field. Create it with `sticky`.

    Attributes:
        field: name of the field of an input that is a mapping.
    """

    field: str


def sticky(field: str) -> StickyChoice:
    """Return the choice of the same node for all inputs that have the same value in a field.

    Args:
        field: name of the field of an input that is a mapping; an input without it is its own key.
    """
    return StickyChoice(field)


Choice: TypeAlias = Literal["soonest", "round_robin", "cheapest"] | StickyChoice
"""Choice among the nodes that offer a capability."""
