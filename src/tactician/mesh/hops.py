"""Path of a request through the nodes of a mesh."""

from __future__ import annotations

from tactician.frozen import frozen


@frozen
class MeshHops:
    """Nodes that a request has passed through, in the surroundings of the run that works on it.

    Attributes:
        nodes: their names, the node of the run last.
    """

    nodes: tuple[str, ...]
