"""Windows: the part of a long conversation that a model sees."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from operator import is_
from typing import Protocol

from tactician.conversation.conversation import Conversation, Messages
from tactician.conversation.tokens import TokenCounter
from tactician.errors import DeclarationError
from tactician.frozen import frozen
from tactician.llm import Message
from tactician.runs import RunContext


class MessageWindow(Protocol):
    """View of a conversation in a run, to which the window belongs."""

    async def view(self, conversation: Conversation) -> Sequence[Message]:
        """Return the messages for the next turn. Called once a turn; the conversation stays unchanged.

        The result may be the live messages of the conversation: use it before the conversation grows.
        """
        ...


class WindowStrategy(ABC):
    """Configuration of a window, which any number of concurrent runs may share.

    `a | b` chains two strategies: `b` gets the messages that `a` selects.
    """

    __slots__ = ()

    @abstractmethod
    def start(self, run: RunContext, counter: TokenCounter) -> MessageWindow:
        """Return the window of a run, which counts tokens for the model of the run."""
        ...

    def __or__(self, other: WindowStrategy) -> WindowStrategy:
        return Chain((self, other))


@frozen
class Chain(WindowStrategy):
    """Strategies in sequence, each on the messages that the previous strategy selects; see `chain`.

    Raises:
        DeclarationError: without strategies.
    """

    strategies: tuple[WindowStrategy, ...]

    def __post_init__(self) -> None:
        if not self.strategies:
            raise DeclarationError("Chain", ["strategies is empty: name at least one"])

    def start(self, run: RunContext, counter: TokenCounter) -> MessageWindow:
        """Return the window of a run."""
        return _ChainWindow([strategy.start(run, counter) for strategy in self.strategies])


def chain(*strategies: WindowStrategy) -> WindowStrategy | None:
    """Chain strategies, or `None`."""
    return Chain(strategies) if len(strategies) > 1 else next(iter(strategies), None)


class _ChainWindow:
    """Windows in sequence, each with a conversation of its input except the first."""

    __slots__ = ("_shown", "_windows")

    def __init__(self, windows: Sequence[MessageWindow]) -> None:
        self._windows = windows
        self._shown = [Conversation() for _ in windows[:-1]]

    async def view(self, conversation: Conversation) -> Sequence[Message]:
        """Return the view of the last window on those before it."""
        for window, shown in zip(self._windows, self._shown, strict=False):
            conversation = _as_conversation(shown, await window.view(conversation))
        return await self._windows[-1].view(conversation)


def _as_conversation(shown: Conversation, view: Sequence[Message]) -> Conversation:
    """Return a conversation with the messages of a view; the viewed conversation itself, if any."""
    if isinstance(view, Messages):
        return view.conversation
    same = list(map(is_, shown.messages, view))
    shown.rewind(same.index(False) if False in same else len(same))
    shown.extend(view[len(shown) :])
    return shown
