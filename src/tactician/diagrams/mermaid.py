"""Diagrams as Mermaid flowcharts (https://mermaid.js.org/syntax/flowchart.html)."""

from __future__ import annotations

from typing import Final

from tactician.diagrams.diagram import Diagram, DiagramEdge, DiagramNode, EdgeStyle, NodeShape, NodeStatus
from tactician.text import escape_controls

_BORDERS: Final[dict[NodeShape, tuple[str, str]]] = {
    "box": ("[", "]"),
    "double": ("[[", "]]"),
    "round": ("(", ")"),
    "stadium": ("([", "])"),
    "hexagon": ("{{", "}}"),
    "slanted": ("[/", "/]"),
}
_ARROWS: Final[dict[EdgeStyle, str]] = {"solid": "-->", "dashed": "-.->", "plain": "-.-"}
_ENTITIES: Final = str.maketrans({"#": "#35;", "&": "#amp;", '"': "#quot;", "<": "#lt;", ">": "#gt;", "`": "#96;"})
_STYLES: Final[dict[NodeStatus, str]] = {
    "done": "fill:#d3f9d8,stroke:#2b8a3e",
    "next": "fill:#fff3bf,stroke:#e67700,stroke-width:3px",
    "planned": "fill:#fff9db,stroke:#e67700,stroke-dasharray:4",
    "failed": "fill:#ffe3e3,stroke:#c92a2a",
}


def to_mermaid(diagram: Diagram) -> str:
    """Return the diagram as a Mermaid flowchart. Labels are escaped."""
    used = {node.status for node in diagram.nodes}
    return "\n".join(
        [
            f"flowchart {diagram.direction}",
            *map(_write_node, diagram.nodes),
            *map(_write_edge, diagram.edges),
            *(f"    class {node.id} {node.status}" for node in diagram.nodes if node.status is not None),
            *(f"    classDef {status} {style}" for status, style in _STYLES.items() if status in used),
        ]
    )


def _write_node(node: DiagramNode) -> str:
    begin, end = _BORDERS[node.shape]
    label = "<br/>".join(map(_escape, node.lines))
    return f'    {node.id}{begin}"{label}"{end}'


def _write_edge(edge: DiagramEdge) -> str:
    label = f'|"{_escape(edge.label)}"|' if edge.label else ""
    return f"    {edge.source} {_ARROWS[edge.style]}{label} {edge.target}"


def _escape(text: str) -> str:
    """Return text that Mermaid shows as it is: no entity, no Markdown, and no character that disguises others."""
    return escape_controls(" ".join(text.splitlines())).translate(_ENTITIES)
