"""Drawings of tasks: parts of the diagram of an ensemble."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol, runtime_checkable

from tactician.diagrams.diagram import DiagramEdge, DiagramNode, NodeShape
from tactician.frozen import frozen


@runtime_checkable
class Drawable(Protocol):
    """Runnable that is drawn by several nodes."""

    def draw(self, prefix: str) -> Drawing:
        """Return a drawing, whose nodes have ids that begin with the prefix."""
        ...


@frozen
class Drawing:
    """Nodes and edges of a part of an ensemble.

    Attributes:
        nodes: the nodes.
        edges: the edges between them.
        entry: id of the node to which edges from outside lead.
        exit: id of the node from which edges lead outside.
    """

    nodes: tuple[DiagramNode, ...]
    edges: tuple[DiagramEdge, ...]
    entry: str
    exit: str

    @classmethod
    def of_node(cls, id: str, lines: Iterable[str], shape: NodeShape = "box") -> Drawing:
        """Return a drawing of a single node."""
        return cls((DiagramNode(id, tuple(lines), shape),), (), id, id)

    @classmethod
    def combine(cls, drawings: Iterable[Drawing], edges: Iterable[DiagramEdge], entry: str, exit: str) -> Drawing:
        """Combine several drawings, with more edges between them."""
        all_drawings = tuple(drawings)
        nodes = tuple(node for drawing in all_drawings for node in drawing.nodes)
        inner = tuple(edge for drawing in all_drawings for edge in drawing.edges)
        return cls(nodes, (*inner, *edges), entry, exit)
