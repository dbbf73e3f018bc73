"""A diagram as data: nodes and edges, without a place for either."""

from __future__ import annotations

from typing import Literal, TypeAlias

from tactician.frozen import frozen

NodeShape: TypeAlias = Literal["box", "double", "round", "stadium", "hexagon", "slanted"]
NodeStatus: TypeAlias = Literal["done", "next", "planned", "failed"]
EdgeStyle: TypeAlias = Literal["solid", "dashed", "plain"]


@frozen
class DiagramNode:
    """Node of a diagram.

    Attributes:
        id: letters, digits and underscores; unique in the diagram.
        lines: lines of its label.
        shape: shape of its border.
        status: status that its color shows; none, when `None`.
    """

    id: str
    lines: tuple[str, ...]
    shape: NodeShape = "box"
    status: NodeStatus | None = None


@frozen
class DiagramEdge:
    """Edge between two nodes, identified by their ids. A `"plain"` edge is dashed and has no arrowhead."""

    source: str
    target: str
    label: str = ""
    style: EdgeStyle = "solid"


@frozen
class Diagram:
    """Diagram, read from left to right (`"LR"`) or from top to bottom (`"TD"`)."""

    nodes: tuple[DiagramNode, ...]
    edges: tuple[DiagramEdge, ...] = ()
    direction: Literal["LR", "TD"] = "LR"
