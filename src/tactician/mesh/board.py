"""Directives of a mesh: what people have directed, for whom, and until when."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection
from contextlib import suppress
from typing import Final

from tactician.clock import Clock
from tactician.errors import ConfigurationError
from tactician.mesh.directives import Command, read_command
from tactician.mesh.messages.directives import CommandData, DirectiveMessage, DirectiveReceipt
from tactician.prompts.contributors import Directive

DIRECTIVES: Final = "tactician.directives"
"""Topic of the directives."""
MAX_DIRECTIVES: Final = 1_000
"""Number of directives that hold at a time."""


class DirectiveBoard:
    """Directives that hold, by their ids.

    Args:
        clock: the time, by which directives expire.

    Attributes:
        is_acknowledged: set with the next acknowledgement of a node.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._messages: dict[str, DirectiveMessage] = {}
        self._commands: dict[str, Command] = {}
        self._receipts: dict[str, dict[str, DirectiveReceipt]] = {}
        self._listeners: list[Callable[[DirectiveMessage], None]] = []
        self.is_acknowledged = asyncio.Event()

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
        if message.command is not None:
            with suppress(ConfigurationError):  # a command of a later version: the nodes say so in their receipts
                self._commands[message.id] = read_command(message.command)
        while len(self._messages) > MAX_DIRECTIVES:
            self._forget(next(iter(self._messages)))
        for listener in tuple(self._listeners):
            listener(message)

    def list_messages(self) -> list[DirectiveMessage]:
        """Return the directives that hold, and the withdrawals, oldest first."""
        for key in [key for key, each in self._messages.items() if self._has_expired(each)]:
            self._forget(key)
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
            describe_directive(each)
            for each in self.list_messages()
            if not each.is_withdrawn and (targets is None or each.target in targets)
        ]

    def list_guidance(self, targets: Collection[str]) -> list[Directive]:
        """Return the directives that hold for some targets and are guidance, not commands, oldest first."""
        return [
            describe_directive(each)
            for each in self.list_messages()
            if not each.is_withdrawn and each.command is None and each.target in targets
        ]

    def list_commands(self, targets: Collection[str]) -> list[tuple[DirectiveMessage, Command]]:
        """Return the commands that hold for some targets, oldest first."""
        if not self._commands:
            return []
        return [
            (each, self._commands[each.id])
            for each in self.list_messages()
            if not each.is_withdrawn and each.id in self._commands and each.target in targets
        ]

    def note_receipt(self, receipt: DirectiveReceipt) -> None:
        """Take the acknowledgement of a node."""
        self._receipts.setdefault(receipt.directive_id, {})[receipt.node] = receipt
        while len(self._receipts) > MAX_DIRECTIVES:
            del self._receipts[next(iter(self._receipts))]
        self.is_acknowledged.set()
        self.is_acknowledged = asyncio.Event()

    def list_receipts(self, directive_id: str) -> list[DirectiveReceipt]:
        """Return the acknowledgements of a directive, by the names of the nodes."""
        receipts = self._receipts.get(directive_id, {})
        return [receipts[node] for node in sorted(receipts)]

    def _forget(self, directive_id: str) -> None:
        del self._messages[directive_id]
        self._commands.pop(directive_id, None)

    def _has_expired(self, message: DirectiveMessage) -> bool:
        return message.expires_at is not None and message.expires_at <= self._clock.time()


def describe_directive(message: DirectiveMessage) -> Directive:
    """Return a directive as people see it; a command is described in words."""
    text = message.text if message.command is None else _describe_command(message.command)
    return Directive(message.id, message.sender, text, message.created_at, message.expires_at, message.target)


def _describe_command(command: CommandData) -> str:
    values = command.value.values() if isinstance(command.value, dict) else ()
    return f"{command.action}({', '.join(repr(value) for value in values)})"
