"""Diagrams of agents, plans and runs: as Mermaid text, as SVG, and as HTML in a notebook."""

from tactician.diagrams.diagram import Diagram, DiagramEdge, DiagramNode, EdgeStyle, NodeShape, NodeStatus
from tactician.diagrams.html import render_card, render_mimebundle
from tactician.diagrams.mermaid import to_mermaid
from tactician.diagrams.svg import to_svg

__all__ = [
    "Diagram",
    "DiagramNode",
    "DiagramEdge",
    "NodeShape",
    "NodeStatus",
    "EdgeStyle",
    "to_mermaid",
    "to_svg",
    "render_card",
    "render_mimebundle",
]
