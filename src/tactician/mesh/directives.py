"""Directives of a mesh: what people have directed, for whom, and until when."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Final

from tactician.clock import Clock
from tactician.mesh.messages.directives import DirectiveMessage
from tactician.prompts.contributors import Directive

DIRECTIVES: Final = "tactician.directives"
"""Topic of the directives."""
MAX_DIRECTIVES: Final = 1_000
"""Number of directives that hold at a time."""


class DirectiveBoard:
    """Directives that hold, by their ids.

    Args:
        clock: the time, by which directives expire.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._messages: dict[str, DirectiveMessage] = {}
        self._listeners: list[Callable[[DirectiveMessage], None]] = []

    def on_change(self, listener: Callable[[DirectiveMessage], None]) -> Callable[[], None]:
        """Call a listener with each directive that is new, and each that is withdrawn; return what ends that."""
        self._listeners.append(listener)
        return lambda: self._listeners.remove(listener)

    def note(self, message: DirectiveMessage) -> None:
        """Take a directive. A withdrawal is kept until the directive would have expired, as it may come first."""
        earlier = self._messages.get(message.id)
        if self._has_expired(message) or (earlier is not None and (earlier.is_withdrawn or earlier == message)):
            return
        self._messages[message.id] = message
        while len(self._messages) > MAX_DIRECTIVES:
            del self._messages[next(iter(self._messages))]
        for listener in tuple(self._listeners):
            listener(message)

    def list_messages(self) -> list[DirectiveMessage]:
        """Return the directives that hold, and the withdrawals, oldest first."""
        self._messages = {key: each for key, each in self._messages.items() if not self._has_expired(each)}
        return list(self._messages.values())

    def find(self, directive_id: str) -> DirectiveMessage | None:
        """Return a directive that holds, or `None`."""
        return next((each for each in self.list_messages() if each.id == directive_id and not each.is_withdrawn), None)

    def list_active(self, targets: Collection[str] | None = None) -> list[Directive]:
        """Return the directives that hold, oldest first.

        Args:
            targets: what they may be for, such as `"kitchen"` or `"tag:food"`; anything by default.
        """
        return [
            Directive(each.id, each.sender, each.text, each.created_at, each.expires_at, each.target)
            for each in self.list_messages()
            if not each.is_withdrawn and each.text and (targets is None or each.target in targets)
        ]

    def _has_expired(self, message: DirectiveMessage) -> bool:
        return message.expires_at is not None and message.expires_at <= self._clock.time()
