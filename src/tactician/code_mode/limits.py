"""Limits of scripts of models, and the extra that runs them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tactician.amounts import Count, Positive, Seconds
from tactician.errors import MissingExtraError
from tactician.extras import describe_install
from tactician.frozen import frozen

if TYPE_CHECKING:
    import pydantic_monty


@frozen
class CodeLimits:
    """Limits of a script of a model.

    Attributes:
        seconds: time that it may compute, without the time of its tools.
        memory: bytes of memory.
        recursion: depth of calls of functions.
        calls: number of calls of tools.
        output: bytes that it may print.
        code: characters of the script.
        state: bytes of the variables that the next script finds again; 0 to keep none.
    """

    seconds: Seconds = 5.0
    memory: Positive = 100_000_000
    recursion: Positive = 200
    calls: Positive = 100
    output: Positive = 50_000
    code: Positive = 50_000
    state: Count = 250_000

    def to_monty(self) -> pydantic_monty.ResourceLimits:
        """Return the limits for the sandbox."""
        return {
            "max_feed_duration_secs": self.seconds,
            "max_memory": self.memory,
            "max_recursion_depth": self.recursion,
            # Names are looked up, and futures are resolved, in steps of their own.
            "max_suspensions": 4 * self.calls + 100,
            "max_total_sleep_secs": 0.0,
        }


def check_monty() -> None:
    """Check that the sandbox is installed.

    Raises:
        MissingExtraError: when it is not.
    """
    try:
        import pydantic_monty
    except ImportError as error:
        raise MissingExtraError(
            f"Code mode needs pydantic-monty, which is not installed. {describe_install('monty')}"
        ) from error
    assert pydantic_monty.__version__
