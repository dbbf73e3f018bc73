"""Planning that asks back: its caller answers what it needs to know."""

from __future__ import annotations

from collections.abc import Callable, Generator
from typing import TypeAlias, TypeVar

from tactician.planning.world import ConditionValue

T = TypeVar("T")
Determine: TypeAlias = Callable[[str], bool | None]
Inquiry: TypeAlias = Generator[str | None, ConditionValue | None, T]
"""Yields the names of conditions, is sent whether they hold, and returns its result.

In a long search it also yields `None`, where it can be halted or abandoned.
"""


def run_inquiry(inquiry: Inquiry[T], determine: Determine | None) -> T:
    """Run an inquiry, answer its questions at once, and return its result."""
    answer: bool | None = None
    while True:
        try:
            name = inquiry.send(answer)
        except StopIteration as done:
            result: T = done.value
            return result
        answer = determine(name) if determine and name is not None else None
