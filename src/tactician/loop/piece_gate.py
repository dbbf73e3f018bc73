"""Gate for the pieces of an answer while it is not certain that anybody may read it."""

from __future__ import annotations

from collections.abc import Callable
from contextvars import copy_context
from functools import partial


class PieceGate:
    """Gate that holds the pieces of an answer back until it is opened, and then lets all pass."""

    __slots__ = ("_held",)

    def __init__(self) -> None:
        self._held: list[Callable[[], None]] | None = []

    def emit(self, deliver: Callable[[], None]) -> None:
        """Deliver a piece; later, in the context of now, while the gate is closed."""
        if self._held is None:
            deliver()
        else:
            self._held.append(partial(copy_context().run, deliver))

    def open(self) -> None:
        """Deliver the pieces so far, and let those that follow pass."""
        held, self._held = self._held or (), None
        for deliver in held:
            deliver()
