"""What calls to other programs share: rate limits, pauses between attempts, and circuit breakers."""

from typing import TYPE_CHECKING

from tactician.late_imports import export_late

if TYPE_CHECKING:
    from tactician.resilience.backoff import Random as Random
    from tactician.resilience.backoff import RetryRule as RetryRule
    from tactician.resilience.backoff import compute_backoff as compute_backoff
    from tactician.resilience.backoff import draw_backoff as draw_backoff
    from tactician.resilience.circuit_breaker import CircuitBreaker as CircuitBreaker
    from tactician.resilience.circuit_breaker import CircuitBreakerPolicy as CircuitBreakerPolicy
    from tactician.resilience.pace import Pace as Pace
    from tactician.resilience.rate_limiter import RateLimiter as RateLimiter
else:
    __getattr__, __dir__, __all__ = export_late(
        __name__,
        {
            "tactician.resilience.backoff": "Random RetryRule compute_backoff draw_backoff",
            "tactician.resilience.circuit_breaker": "CircuitBreaker CircuitBreakerPolicy",
            "tactician.resilience.pace": "Pace",
            "tactician.resilience.rate_limiter": "RateLimiter",
        },
    )
