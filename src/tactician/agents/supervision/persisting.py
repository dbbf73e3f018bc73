"""A model that stops before the goal is reached is told so, as long as it could go on."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from tactician.llm import AssistantMessage, OutputSpec
from tactician.loop.endings import Answer
from tactician.tools import Toolbox

_MOST_NUDGES: Final = 2


class PersistentEnding:
    """A reply is the answer, unless something is left to do: then the model gets it back, twice in a row at most.

    Args:
        left: says what is left to do; `None` when nothing is, or nothing can be done.
        done: how much has been done.
    """

    instructions = ""
    spec: OutputSpec | None = None

    def __init__(self, left: Callable[[], str | None], done: Callable[[], int]) -> None:
        self.nudge = ""
        self._left = left
        self._done = done
        self._nudges = 0
        self._done_then = -1

    def tools(self, own: Toolbox) -> Toolbox:
        """The tools that the model has."""
        return own

    def answer(self, message: AssistantMessage) -> Answer[str] | None:
        """The answer in a reply; `None` when the model is to go on."""
        if (done := self._done()) != self._done_then:
            self._nudges, self._done_then = 0, done
        if self._nudges >= _MOST_NUDGES or (left := self._left()) is None:
            return Answer(message.text)
        self._nudges += 1
        self.nudge = left
        return None
