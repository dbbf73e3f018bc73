"""Control of a node by the commands that hold for it now: the effect ends when a command is withdrawn or expires."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from tactician.errors import ConfigurationError
from tactician.mesh.connection import MeshConnection
from tactician.mesh.directives import (
    Command,
    Continue,
    Disable,
    Enable,
    Pause,
    SetConcurrency,
    SetQueueLimit,
    SetTier,
    SetWeight,
    check_command,
    read_command,
)
from tactician.mesh.messages.directives import DirectiveMessage
from tactician.mesh.nodes.offer import Offer, OfferedRunnable
from tactician.mesh.nodes.settings import NodeSettings


class NodeControl:
    """Settings of a node as people and rules have them now.

    Args:
        node: name of the node.
        mesh: the connection, whose board has the commands.
        offers: what the node offers, by name.
        settings: the settings of the node.
    """

    def __init__(
        self, node: str, mesh: MeshConnection, offers: Mapping[str, OfferedRunnable], settings: NodeSettings
    ) -> None:
        self._node = node
        self._mesh = mesh
        self._offers = offers
        self._settings = settings

    @property
    def has_tiers(self) -> bool:
        """True when the node names models of tiers."""
        return bool(self._settings.tiers)

    @property
    def max_concurrent(self) -> int:
        """Number of requests that an instance works on at once."""
        chosen = self._settings.max_concurrent
        for command in self._list():
            if isinstance(command, SetConcurrency):
                chosen = command.requests
        return chosen

    @property
    def queue_limit(self) -> int:
        """Number of requests that may wait."""
        chosen = self._settings.queue_limit
        for command in self._list():
            if isinstance(command, SetQueueLimit):
                chosen = command.requests
        return chosen

    def is_paused(self, offer: Offer) -> bool:
        """Return whether no work on an offer begins."""
        states = [command for command in self._list(offer) if isinstance(command, Pause | Continue)]
        return bool(states) and isinstance(states[-1], Pause)

    def is_enabled(self, offer: Offer) -> bool:
        """Return whether requests for an offer are taken."""
        states = [
            command
            for command in self._list(offer)
            if isinstance(command, Enable | Disable) and command.capability == offer.name
        ]
        return isinstance(states[-1], Enable) if states else offer.is_enabled

    def weigh(self, offer: Offer) -> int:
        """Return the minutes of waiting that a request for an offer counts more."""
        return sum(command.minutes for command in self._list(offer) if isinstance(command, SetWeight))

    def find_tier(self, offer: Offer, begun: str | None = None, *, is_running: bool = False) -> str | None:
        """Return the name of the model of the tier for work on an offer; `None` for the models of the work itself.

        Args:
            offer: the offer.
            begun: for work that has begun, the name of the model that it began with.
            is_running: true for work that has begun.
        """
        choices = [command for command in self._list(offer) if isinstance(command, SetTier)]
        if is_running and not (choices and choices[-1].running):
            return begun
        if not is_running:  # when a command for all is withdrawn, the work goes back to what it would have begun with
            choices = [*filter(lambda choice: not choice.running, choices)]
        tier = choices[-1].tier if choices else None
        return None if tier is None else (self._settings.tiers or {})[tier]

    def reaches(self, target: str) -> bool:
        """Return whether a directive for a target is for this node, or for what it offers."""
        return target in self.find_targets() or any(
            target in self.find_targets(offered.offer) for offered in self._offers.values()
        )

    def find_targets(self, offer: Offer | None = None) -> set[str]:
        """Return the targets of the directives for the node, or for the work of an offer."""
        targets = {self._node, f"realm:{self._mesh.realm}"}
        if offer is not None:
            targets.add(f"capability:{offer.name}")
            targets.update(f"tag:{tag}" for tag in offer.tags)
        return targets

    def find_problem(self, message: DirectiveMessage) -> str | None:
        """Return why the node does not follow a command, if it does not."""
        if message.command is None:
            return None
        try:
            self._check(read_command(message.command), message.target)
        except ConfigurationError as error:
            return str(error)
        return None

    def _check(self, command: Command, target: str) -> None:
        check_command(command, target, tuple(self._settings.tiers or ()), tuple(self._offers))

    def _list(self, offer: Offer | None = None) -> Iterator[Command]:
        for message, command in self._mesh.board.list_commands(self.find_targets(offer)):
            try:
                self._check(command, message.target)
            except ConfigurationError:
                continue  # the receipt says so
            yield command
