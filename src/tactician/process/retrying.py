"""Which failures of actions pass, and how often an action is tried."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TypeVar

from tactician.amounts import need_amount
from tactician.clock import Clock
from tactician.errors import (
    ConfigurationError,
    ModelConnectionError,
    ModelServerError,
    ModelTimeoutError,
    PermanentError,
    RateLimitError,
    TransientError,
)

T = TypeVar("T")
_PASSING = (TransientError, RateLimitError, ModelServerError, ModelTimeoutError, ModelConnectionError, ConnectionError)


@dataclass(frozen=True, slots=True, kw_only=True)
class ActionRetryPolicy:
    """How often an action is tried, and how long to wait in between.

    What is tried again: a `TransientError`, failures of models and connections that pass, and what is named here. A
    `PermanentError` never is, nor are mistakes in the code of an action.

    Attributes:
        attempts: in all.
        delay: seconds before the second attempt.
        factor: by how much each further pause is longer.
        max_delay: seconds, the longest pause.
        on: other exceptions that are worth another attempt.

    Raises:
        ConfigurationError: when one of them is not what it has to be.
    """

    attempts: int = 3
    delay: float = 1.0
    factor: float = 2.0
    max_delay: float = 60.0
    on: tuple[type[Exception], ...] = ()

    def __post_init__(self) -> None:
        need_amount("ActionRetryPolicy.attempts", self.attempts, least=1, whole=True)
        for name in ("delay", "factor", "max_delay"):
            need_amount(f"ActionRetryPolicy.{name}", getattr(self, name))
        if not _is_of_exceptions(self.on):
            raise ConfigurationError(
                f"ActionRetryPolicy.on is {self.on!r}; write a tuple of exceptions: on=(KeyError,)"
            )

    def pause_after(self, attempt: int, error: Exception) -> float | None:
        """Seconds to wait after an attempt, counted from 1; `None` when it was the last."""
        if attempt >= self.attempts or not self._passes(error):
            return None
        return min(self.delay * self.factor ** (attempt - 1), self.max_delay)

    def _passes(self, error: BaseException) -> bool:
        """Whether it is worth another attempt; a group is, when each error in it is."""
        if isinstance(error, PermanentError):
            return False
        if isinstance(error, BaseExceptionGroup) and all(map(self._passes, error.exceptions)):
            return True
        return isinstance(error, (*_PASSING, *self.on))


def _is_of_exceptions(kinds: object) -> bool:
    return isinstance(kinds, tuple) and all(isinstance(kind, type) and issubclass(kind, Exception) for kind in kinds)


DEFAULT_RETRIES = ActionRetryPolicy()


async def retried(attempt: Callable[[int], Awaitable[T]], policy: ActionRetryPolicy, clock: Clock) -> T:
    """What an action gives. Each attempt is told its number.

    Raises:
        Exception: that of the last attempt.
    """
    number = 1
    while True:
        try:
            return await attempt(number)
        except Exception as error:
            pause = policy.pause_after(number, error)
            if pause is None:
                if number > 1:
                    error.add_note(f"after {number} attempts")
                raise
        await clock.sleep(pause)
        number += 1
