"""Regular expressions of others: compiled and matched in a process with limits of time and memory."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Final, Self

from tactician.clock import SYSTEM_CLOCK
from tactician.errors import MissingExtraError
from tactician.extras import describe_install
from tactician.flow.timeout import StepTimeoutError
from tactician.rag.child_process import ChildProcess
from tactician.rag.operations import SearchQueryError
from tactician.rag.regex_program import SEPARATOR

MAX_PATTERN: Final = 500
"""Characters of an expression."""
MAX_SECONDS: Final = 3.0
"""Seconds that a search by an expression may take."""
MAX_MEGABYTES: Final = 512
"""Memory of the process that matches; not limited on Windows."""
_START_SECONDS: Final = 60.0
_TRANSFER_SECONDS: Final = 1.0
"""Time for sending some thousand texts and for waiting for a processor, which does not count."""


class BoundedPattern:
    """Regular expression with the time and the memory that it may take in all.

    Use it as an asynchronous context manager: its process ends with the context.

    Args:
        pattern: the expression, in Python's syntax.
        seconds: the seconds that compiling and all matches may take together.

    Raises:
        SearchQueryError: when the expression is empty or too long.
    """

    def __init__(self, pattern: str, seconds: float = MAX_SECONDS) -> None:
        if not pattern or len(pattern) > MAX_PATTERN:
            raise SearchQueryError(f"A regular expression has 1 to {MAX_PATTERN} characters, not {len(pattern)}.")
        self._source = pattern
        self._remaining = seconds
        # Should this process end before its child, the processor time ends the child.
        limits = (MAX_MEGABYTES, math.ceil(seconds) + 5)
        self._process = ChildProcess("tactician.rag.regex_program", limits, SYSTEM_CLOCK)

    async def __aenter__(self) -> Self:
        try:
            self._check(await self._process.ask({"ping": True}, b"", _START_SECONDS))
            await self._ask({"pattern": self._source}, b"")
        except BaseException:
            await self._process.stop()
            raise
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._process.stop()

    async def select(self, texts: Sequence[str]) -> list[bool]:
        """Return for each text whether the expression matches somewhere in it.

        Raises:
            SearchQueryError: when the time or the memory is used up.
        """
        body = SEPARATOR.join(text.replace(SEPARATOR, " ") for text in texts).encode(errors="surrogatepass")
        answer = await self._ask({}, body)
        matches = set(answer["matches"])
        return [place in matches for place in range(len(texts))]

    async def _ask(self, header: dict[str, object], body: bytes) -> dict[str, Any]:
        try:
            answer = await self._process.ask(header, body, self._remaining + _TRANSFER_SECONDS)
        except StepTimeoutError:
            raise self._create_time_error() from None
        except (OSError, EOFError, ValueError):
            raise SearchQueryError(
                f"The regular expression {self._source[:100]!r} needs more than {MAX_MEGABYTES} megabytes of memory or "
                "breaks the matcher. Use smaller repeats, or search for words first."
            ) from None
        self._remaining -= self._check(answer)["seconds"]
        if self._remaining <= 0:
            raise self._create_time_error()
        return answer

    def _create_time_error(self) -> SearchQueryError:
        return SearchQueryError(
            f"The regular expression {self._source[:100]!r} takes too long. "
            "Repeat nothing that repeats itself, as (a+)+ does, or search for words first."
        )

    def _check(self, answer: dict[str, Any]) -> dict[str, Any]:
        """Return an answer that is not an error."""
        if (missing := answer.get("missing")) is not None:
            raise MissingExtraError(f"Regular expressions need {missing}. {describe_install('rag')}")
        if (error := answer.get("error")) is not None:
            raise SearchQueryError(f"The regular expression {self._source[:100]!r} cannot be searched for: {error}.")
        return answer
