"""Diagrams as SVG, laid out in layers, which a browser shows without a script.

Source of the layout: K. Sugiyama, S. Tagawa and M. Toda, *Methods for Visual Understanding of Hierarchical System
Structures* (1981), in its simplest form: longest paths for the layers, barycenters for the order in each of them.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from itertools import pairwise
from typing import Final

from tactician.diagrams.diagram import Diagram, DiagramEdge, DiagramNode, NodeStatus
from tactician.frozen import frozen

_CHARACTER, _SMALL_CHARACTER, _LINE, _PADDING = 7.0, 5.5, 17.0, 12.0
_LAYER_GAP, _NODE_GAP, _MARGIN = 56.0, 18.0, 10.0
_PASSAGE = (8.0, 8.0)
_DETOUR = 16.0
_SWEEPS = 4
_LONGEST_LINE = 40
_COLORS: Final[Mapping[NodeStatus | None, tuple[str, str]]] = {
    None: ("#f8f9fa", "#495057"),
    "done": ("#d3f9d8", "#2b8a3e"),
    "next": ("#fff3bf", "#e67700"),
    "planned": ("#fff9db", "#e67700"),
    "failed": ("#ffe3e3", "#c92a2a"),
}
_ARROWHEAD: Final = (
    '<defs><marker id="arrow" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="7" markerHeight="7" orient="auto">'
    '<path d="M0,0 L8,4 L0,8 z" fill="#868e96"/></marker></defs>'
)


_STYLE: Final = "max-width:100%;height:auto;font:13px sans-serif"


@frozen
class _Box:
    """Place of a node: its upper left corner, and its size."""

    x: float
    y: float
    width: float
    height: float


def to_svg(diagram: Diagram, *, css_class: str | None = None) -> str:
    """Return the diagram as an SVG element. Labels are escaped, and long lines are cut.

    Args:
        diagram: the diagram.
        css_class: class of the element, for pages that allow no `style` attributes.
    """
    is_across = diagram.direction == "LR"
    layers = _find_layers(diagram)
    routes = _find_routes(diagram, layers)
    layers = _order(layers, [pair for route in routes for pair in pairwise(route)])
    gaps = _find_gaps(layers, diagram.edges) if is_across else [_LAYER_GAP] * len(layers)
    boxes = _place(layers, {node.id: _measure(node) for node in diagram.nodes}, gaps, is_across=is_across)
    width = max((box.x + box.width for box in boxes.values()), default=0.0) + _MARGIN
    height = max((box.y + box.height for box in boxes.values()), default=0.0) + _MARGIN + _DETOUR
    shapes = [
        _draw_edge(edge, [boxes[name] for name in route], is_across=is_across)
        for edge, route in zip(diagram.edges, routes, strict=True)
    ]
    shapes += [_draw_node(node, boxes[node.id]) for node in diagram.nodes]
    size = f'viewBox="0 0 {width:.0f} {height:.0f}" width="{width:.0f}" height="{height:.0f}"'
    style = f'style="{_STYLE}"' if css_class is None else f'class="{escape(css_class)}"'
    return f'<svg xmlns="http://www.w3.org/2000/svg" role="img" {size} {style}>{_ARROWHEAD}{"".join(shapes)}</svg>'


def _find_layers(diagram: Diagram) -> list[list[str]]:
    """Return the ids of the nodes, layer by layer: each node behind all from which an edge leads to it, but cycles."""
    targets: dict[str, list[str]] = {node.id: [] for node in diagram.nodes}
    for edge in diagram.edges:
        targets[edge.source].append(edge.target)
    order = _sort_topologically(targets)
    places = {name: place for place, name in enumerate(order)}
    depth = dict.fromkeys(order, 0)
    for name in order:
        for target in targets[name]:
            if places[target] > places[name]:
                depth[target] = max(depth[target], depth[name] + 1)
    layers: list[list[str]] = [[] for _ in range(max(depth.values(), default=-1) + 1)]
    for node in diagram.nodes:
        layers[depth[node.id]].append(node.id)
    return layers


def _sort_topologically(targets: Mapping[str, Sequence[str]]) -> list[str]:
    """Return the nodes so that edges lead forwards, but for a single edge of each cycle."""
    finished: dict[str, None] = {}
    for root in targets:
        waiting = [(root, iter(targets[root]))]
        entered = {root}
        while waiting and root not in finished:
            name, ahead = waiting[-1]
            following = next(
                (candidate for candidate in ahead if candidate not in finished and candidate not in entered), None
            )
            if following is None:
                finished[name] = None
                waiting.pop()
            else:
                entered.add(following)
                waiting.append((following, iter(targets[following])))
    return [*finished][::-1]


def _find_routes(diagram: Diagram, layers: list[list[str]]) -> list[list[str]]:
    """Return the nodes that each edge passes. An edge over several layers gets a place of its own in those between."""
    depth = {name: number for number, layer in enumerate(layers) for name in layer}
    routes = []
    for number, edge in enumerate(diagram.edges):
        between = range(depth[edge.source] + 1, depth[edge.target])
        places = [f"{number} {node}" for node in between]  # no id has a blank
        for node, place in zip(between, places, strict=True):
            layers[node].append(place)
        routes.append([edge.source, *places, edge.target])
    return routes


def _order(layers: list[list[str]], pairs: Iterable[tuple[str, str]]) -> list[list[str]]:
    """Return the layers, each in an order in which its nodes are near to those that they are connected to."""
    neighbors: defaultdict[str, list[str]] = defaultdict(list)
    for source, target in pairs:
        neighbors[source].append(target)
        neighbors[target].append(source)
    for sweep in range(_SWEEPS):
        sequence = range(1, len(layers)) if sweep % 2 == 0 else range(len(layers) - 2, -1, -1)
        for number in sequence:
            fixed = {name: place for place, name in enumerate(layers[number - 1 if sweep % 2 == 0 else number + 1])}
            current = {name: float(place) for place, name in enumerate(layers[number])}
            for name in layers[number]:
                if places := [fixed[neighbor] for neighbor in neighbors[name] if neighbor in fixed]:
                    current[name] = sum(places) / len(places)
            layers[number].sort(key=current.__getitem__)
    return layers


def _find_gaps(layers: Sequence[Sequence[str]], edges: Iterable[DiagramEdge]) -> list[float]:
    """Return the distance after each layer, where the labels of the edges have to fit."""
    longest: defaultdict[str, float] = defaultdict(float)
    for edge in edges:
        longest[edge.source] = max(longest[edge.source], len(_cut(edge.label)) * _SMALL_CHARACTER + 2 * _PADDING)
    return [max((_LAYER_GAP, *(longest[name] for name in layer))) for layer in layers]


def _place(
    layers: Sequence[Sequence[str]],
    measured: Mapping[str, tuple[float, float]],
    gaps: Sequence[float],
    *,
    is_across: bool,
) -> dict[str, _Box]:
    sizes = {name: measured.get(name, _PASSAGE) for layer in layers for name in layer}
    lengths = [_length_of([sizes[name][is_across] for name in layer]) for layer in layers]
    boxes, offset = {}, _MARGIN
    for layer, length, gap in zip(layers, lengths, gaps, strict=True):
        along = _MARGIN + (max(lengths) - length) / 2
        depth = max(sizes[name][not is_across] for name in layer)
        for name in layer:
            width, height = sizes[name]
            centered = offset + (depth - sizes[name][not is_across]) / 2
            boxes[name] = _Box(centered, along, width, height) if is_across else _Box(along, centered, width, height)
            along += sizes[name][is_across] + _NODE_GAP
        offset += depth + gap
    return boxes


def _length_of(sizes: Sequence[float]) -> float:
    return sum(sizes) + _NODE_GAP * (len(sizes) - 1)


def _measure(node: DiagramNode) -> tuple[float, float]:
    """Return the width and the height of a node."""
    longest = max((len(_cut(line)) for line in node.lines), default=0)
    return longest * _CHARACTER + 2 * _PADDING, max(len(node.lines), 1) * _LINE + _PADDING


def _cut(line: str) -> str:
    return line if len(line) <= _LONGEST_LINE else f"{line[: _LONGEST_LINE - 1]}…"


def _draw_node(node: DiagramNode, box: _Box) -> str:
    fill, stroke = _COLORS[node.status]
    dashes = ' stroke-dasharray="4"' if node.status == "planned" else ""
    border = f'fill="{fill}" stroke="{stroke}"{dashes}'
    shapes = [_draw_border(node, box, border)]
    if node.shape == "double":
        inner = _Box(box.x + 3, box.y + 3, box.width - 6, box.height - 6)
        shapes.append(_draw_border(node, inner, f'fill="none" stroke="{stroke}"'))
    x, y = box.x + box.width / 2, box.y + box.height / 2 - (len(node.lines) - 1) * _LINE / 2 + 4.5
    for number, line in enumerate(node.lines):
        weight = "" if number == 0 else ' fill="#495057" font-size="11"'
        text = escape(_cut(line))
        shapes.append(f'<text x="{x:.1f}" y="{y + number * _LINE:.1f}" text-anchor="middle"{weight}>{text}</text>')
    title = escape(" ".join(node.lines))
    return f"<g><title>{title}</title>{''.join(shapes)}</g>"


def _draw_border(node: DiagramNode, box: _Box, style: str) -> str:
    if node.shape in ("hexagon", "slanted"):
        left, right, top, bottom = box.x, box.x + box.width, box.y, box.y + box.height
        middle, edge = (top + bottom) / 2, 8
        corners = [(left + edge, top), (right - edge, top), (right, middle)]
        corners += [(right - edge, bottom), (left + edge, bottom), (left, middle)]
        if node.shape == "slanted":
            corners = [(left + edge, top), (right, top), (right - edge, bottom), (left, bottom)]
        return f'<polygon points="{" ".join(f"{x:.1f},{y:.1f}" for x, y in corners)}" {style}/>'
    radius = {"stadium": box.height / 2, "round": 8.0}.get(node.shape, 3.0)
    place = f'x="{box.x:.1f}" y="{box.y:.1f}" width="{box.width:.1f}" height="{box.height:.1f}"'
    return f'<rect {place} rx="{radius:.1f}" {style}/>'


def _draw_edge(edge: DiagramEdge, route: Sequence[_Box], *, is_across: bool) -> str:
    is_back = (route[0].x >= route[-1].x) if is_across else (route[0].y >= route[-1].y)
    begin, line = _detour(route[0], route[-1]) if is_back else _follow(route, is_across=is_across)
    dashes = "" if edge.style == "solid" else ' stroke-dasharray="4"'
    head = "" if edge.style == "plain" else ' marker-end="url(#arrow)"'
    path = f'<path d="{line}" fill="none" stroke="#868e96"{dashes}{head}/>'
    if not edge.label:
        return path
    following = route[1] if len(route) > 1 else route[0]
    x, y = (begin[0] + following.x) / 2, (begin[1] + following.y + following.height / 2) / 2 - 4
    if is_back:
        x, y = (begin[0] + route[-1].x + route[-1].width / 2) / 2, begin[1] + _DETOUR
    style = 'text-anchor="middle" font-size="11" fill="#495057" stroke="#fff" stroke-width="3" paint-order="stroke"'
    return f'{path}<text x="{x:.1f}" y="{y:.1f}" {style}>{escape(_cut(edge.label))}</text>'


def _follow(route: Sequence[_Box], *, is_across: bool) -> tuple[tuple[float, float], str]:
    """Return where a line begins, and the line, from layer to layer."""
    begin = _leave(route[0], is_across=is_across)
    line, here = f"M{begin[0]:.1f},{begin[1]:.1f}", begin
    for box in route[1:]:
        x, y = _enter(box, is_across=is_across)
        if is_across:
            middle = (here[0] + x) / 2
            line += f" C{middle:.1f},{here[1]:.1f} {middle:.1f},{y:.1f} {x:.1f},{y:.1f}"
        else:
            middle = (here[1] + y) / 2
            line += f" C{here[0]:.1f},{middle:.1f} {x:.1f},{middle:.1f} {x:.1f},{y:.1f}"
        here = (x, y) if box is route[-1] else _leave(box, is_across=is_across)
        if box is not route[-1]:
            line += f" L{here[0]:.1f},{here[1]:.1f}"
    return begin, line


def _leave(box: _Box, *, is_across: bool) -> tuple[float, float]:
    return (box.x + box.width, box.y + box.height / 2) if is_across else (box.x + box.width / 2, box.y + box.height)


def _enter(box: _Box, *, is_across: bool) -> tuple[float, float]:
    return (box.x, box.y + box.height / 2) if is_across else (box.x + box.width / 2, box.y)


def _detour(source: _Box, target: _Box) -> tuple[tuple[float, float], str]:
    """Return where a line backwards begins, and the line, below both nodes."""
    begin = source.x + source.width / 2, source.y + source.height
    end = target.x + target.width / 2 + (source is target) * 12, target.y + target.height
    below = max(begin[1], end[1]) + 2 * _DETOUR
    curve = f"C{begin[0]:.1f},{below:.1f} {end[0]:.1f},{below:.1f} {end[0]:.1f},{end[1]:.1f}"
    return begin, f"M{begin[0]:.1f},{begin[1]:.1f} {curve}"
