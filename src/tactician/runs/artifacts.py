"""Artifacts of runs: objects that tools produce for the program, on their way to all who receive them."""

from __future__ import annotations

from collections.abc import Callable

from typing_extensions import override

from tactician.frozen import frozen


@frozen
class ProducedArtifact:
    """Object that a tool produced.

    Attributes:
        value: the object.
        announce: function that tells the listeners.
    """

    value: object
    announce: Callable[[], object]


class ArtifactChannel:
    """Channel of the objects that tools produce in a run, to that run and to all around it.

    Args:
        outer: channel of what surrounds the run.
        receive: function that is called with each object.

    Attributes:
        values: the objects so far.
    """

    __slots__ = ("_outer", "_receive", "values")

    def __init__(self, outer: ArtifactChannel | None = None, receive: Callable[[object], object] | None = None) -> None:
        self._outer = outer
        self._receive = receive
        self.values: list[object] = []

    def deliver(self, produced: ProducedArtifact) -> None:
        """Deliver an object to all who receive it, and then tell the listeners."""
        if self._receive is not None:
            self._receive(produced.value)
        self.values.append(produced.value)
        if self._outer is None:
            produced.announce()
        else:
            self._outer.deliver(produced)

    def create_inner(self) -> ArtifactChannel:
        """Create the channel of a run inside."""
        return ArtifactChannel(self)


class HeldArtifacts(ArtifactChannel):
    """Channel that holds the objects of a tool until the guardrails have accepted its result.

    Runs inside the tool have guardrails of their own: their objects are not held, and not lost when they wait.

    Args:
        outer: channel of what surrounds the tool.
    """

    __slots__ = ("_held",)

    def __init__(self, outer: ArtifactChannel | None) -> None:
        super().__init__(outer)
        self._held: list[ProducedArtifact] = []

    @override
    def create_inner(self) -> ArtifactChannel:
        return ArtifactChannel(self._outer)

    @override
    def deliver(self, produced: ProducedArtifact) -> None:
        self._held.append(produced)

    def release(self, deliver: Callable[[ProducedArtifact], object]) -> None:
        """Deliver all objects."""
        for produced in self._held:
            deliver(produced)
        self._held.clear()
