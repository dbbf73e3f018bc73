"""Diagrams of agents, plans and runs: as Mermaid text, as SVG, and as HTML in a notebook."""

from typing import TYPE_CHECKING

from tactician.late_imports import export_late

if TYPE_CHECKING:
    from tactician.diagrams.diagram import Diagram as Diagram
    from tactician.diagrams.diagram import DiagramEdge as DiagramEdge
    from tactician.diagrams.diagram import DiagramNode as DiagramNode
    from tactician.diagrams.diagram import EdgeStyle as EdgeStyle
    from tactician.diagrams.diagram import NodeShape as NodeShape
    from tactician.diagrams.diagram import NodeStatus as NodeStatus
    from tactician.diagrams.html import render_card as render_card
    from tactician.diagrams.html import render_mimebundle as render_mimebundle
    from tactician.diagrams.mermaid import to_mermaid as to_mermaid
    from tactician.diagrams.svg import to_svg as to_svg
else:
    __getattr__, __dir__, __all__ = export_late(
        __name__,
        {
            "tactician.diagrams.diagram": "Diagram DiagramEdge DiagramNode EdgeStyle NodeShape NodeStatus",
            "tactician.diagrams.html": "render_card render_mimebundle",
            "tactician.diagrams.mermaid": "to_mermaid",
            "tactician.diagrams.svg": "to_svg",
        },
    )
