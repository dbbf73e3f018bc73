"""What of a long conversation a model is shown."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from operator import is_
from typing import Protocol

from tactician.conversation.conversation import Conversation, Messages
from tactician.conversation.tokens import TokenCounter
from tactician.errors import DeclarationError
from tactician.llm import Message
from tactician.runs import RunContext


class Window(Protocol):
    """What a model is shown in one run. It belongs to that run."""

    async def view(self, conversation: Conversation) -> Sequence[Message]:
        """What the model is shown in the next turn: asked once a turn. The conversation stays as it is.

        What comes back may be the messages of the conversation themselves: use it before the conversation grows.
        """
        ...


class WindowStrategy(ABC):
    """How a long conversation is shown: a configuration, which any number of runs may use at the same time.

    `a | b` is both: `b` is given what `a` shows.
    """

    __slots__ = ()

    @abstractmethod
    def start(self, run: RunContext, counter: TokenCounter) -> Window:
        """The window of a run, which counts with the counter of the run's model."""
        ...

    def __or__(self, other: WindowStrategy) -> WindowStrategy:
        return Chain((self, other))


@dataclass(frozen=True, slots=True)
class Chain(WindowStrategy):
    """Several strategies, each given what the one before shows; see `chain`.

    Raises:
        DeclarationError: when there are none.
    """

    strategies: tuple[WindowStrategy, ...]

    def __post_init__(self) -> None:
        if not self.strategies:
            raise DeclarationError("Chain", ["strategies is empty: name at least one"])

    def start(self, run: RunContext, counter: TokenCounter) -> Window:
        """The window of a run."""
        return _ChainWindow([strategy.start(run, counter) for strategy in self.strategies])


def chain(*strategies: WindowStrategy) -> WindowStrategy | None:
    """The strategies one after another; `None` when there are none."""
    return Chain(strategies) if len(strategies) > 1 else next(iter(strategies), None)


class _ChainWindow:
    """Windows, and for each but the last the conversation that it shows."""

    __slots__ = ("_shown", "_windows")

    def __init__(self, windows: Sequence[Window]) -> None:
        self._windows = windows
        self._shown = [Conversation() for _ in windows[:-1]]

    async def view(self, conversation: Conversation) -> Sequence[Message]:
        """What the last window shows of what those before it show."""
        for window, shown in zip(self._windows, self._shown, strict=False):
            conversation = _as_conversation(shown, await window.view(conversation))
        return await self._windows[-1].view(conversation)


def _as_conversation(shown: Conversation, view: Sequence[Message]) -> Conversation:
    """A conversation that says what the view says; where the view is that of one, that one."""
    if isinstance(view, Messages):
        return view.conversation
    same = list(map(is_, shown.messages, view))
    shown.rewind(same.index(False) if False in same else len(same))
    shown.extend(view[len(shown) :])
    return shown
