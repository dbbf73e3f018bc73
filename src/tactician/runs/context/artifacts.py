"""Artifacts of runs: objects that tools produce for the program, on their way to all who receive them."""

from __future__ import annotations

from collections.abc import Callable

from typing_extensions import override

from tactician.frozen import frozen
from tactician.runs.progress.checkpoint import Keys


@frozen
class ProducedArtifact:
    """Object that a tool produced.

    Attributes:
        value: the object.
        announce: function that tells the listeners.
    """

    value: object
    announce: Callable[[], object]


@frozen
class EarlierArtifact:
    """Object that a tool produced before the run was continued.

    Attributes:
        keys: place of the call in the tree of checkpoints.
        value: the object.
    """

    keys: Keys
    value: object


class ArtifactChannel:
    """Channel of the objects that tools produce in a run, to that run and to all around it.

    Args:
        outer: channel of what surrounds the run.
        receive: function that is called with each object.

    Attributes:
        values: the objects so far.
        earlier: artifacts of the outermost run from before it was continued.
    """

    __slots__ = ("_outer", "_receive", "earlier", "values")

    def __init__(self, outer: ArtifactChannel | None = None, receive: Callable[[object], object] | None = None) -> None:
        self._outer = outer
        self._receive = receive
        self.values: list[object] = []
        self.earlier: tuple[EarlierArtifact, ...] = () if outer is None else outer.earlier

    def deliver(self, produced: ProducedArtifact) -> bool:
        """Deliver an object to all who receive it, and then tell the listeners; return whether nothing holds it."""
        if self._receive is not None:
            self._receive(produced.value)
        self.values.append(produced.value)
        if self._outer is not None:
            return self._outer.deliver(produced)
        produced.announce()
        return True

    def list_inside(self, keys: Keys) -> tuple[object, ...]:
        """Return the objects of the run with a place in the tree of checkpoints, the earlier ones first."""
        before = (artifact.value for artifact in self.earlier if artifact.keys[: len(keys)] == keys)
        return (*before, *self.values)

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
    def deliver(self, produced: ProducedArtifact) -> bool:
        self._held.append(produced)
        return False

    def release(self, deliver: Callable[[ProducedArtifact], object]) -> None:
        """Deliver all objects."""
        for produced in self._held:
            deliver(produced)
        self._held.clear()
