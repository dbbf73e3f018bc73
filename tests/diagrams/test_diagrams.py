"""Diagrams as Mermaid, SVG and cards: nothing overlaps, nothing is lost, and no text becomes markup."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from typing import get_args
from xml.etree import ElementTree

from hypothesis import given
from hypothesis import strategies as st

from tactician.diagrams.diagram import Diagram, DiagramEdge, DiagramNode, EdgeStyle, NodeShape, NodeStatus
from tactician.diagrams.html import render_card, render_mimebundle
from tactician.diagrams.mermaid import to_mermaid
from tactician.diagrams.svg import to_svg

SVG = "{http://www.w3.org/2000/svg}"
TEXTS = st.text(st.characters(blacklist_categories=("Cs", "Cc")), max_size=60)
SHAPES = st.sampled_from(get_args(NodeShape))
STATUSES = st.sampled_from([None, *get_args(NodeStatus)])
STYLES = st.sampled_from(get_args(EdgeStyle))


@st.composite
def diagrams(draw: st.DrawFn) -> Diagram:
    count = draw(st.integers(1, 12))
    lines = st.lists(TEXTS, min_size=1, max_size=3).map(tuple)
    nodes = tuple(DiagramNode(f"n{i}", draw(lines), draw(SHAPES), draw(STATUSES)) for i in range(count))
    places = st.integers(0, count - 1)
    ends = draw(st.lists(st.tuples(places, places), max_size=20))
    edges = tuple(DiagramEdge(f"n{a}", f"n{b}", draw(TEXTS), draw(STYLES)) for a, b in ends)
    return Diagram(nodes, edges, draw(st.sampled_from(["LR", "TD"])))


def boxes_of(svg: str) -> list[tuple[float, float, float, float]]:
    found = []
    for group in ElementTree.fromstring(svg).iter(f"{SVG}g"):
        shape = group[1]
        if shape.tag == f"{SVG}rect":
            x, y, width, height = (float(shape.attrib[name]) for name in ("x", "y", "width", "height"))
        else:
            corners = [tuple(map(float, corner.split(","))) for corner in shape.attrib["points"].split()]
            x, y = min(c[0] for c in corners), min(c[1] for c in corners)
            width, height = max(c[0] for c in corners) - x, max(c[1] for c in corners) - y
        found.append((x, y, x + width, y + height))
    return found


@given(diagrams())
def test_no_two_nodes_overlap_and_all_are_inside_the_picture(diagram: Diagram) -> None:
    svg = to_svg(diagram)
    boxes = boxes_of(svg)
    assert len(boxes) == len(diagram.nodes)
    _, _, width, height = map(float, ElementTree.fromstring(svg).attrib["viewBox"].split())
    for number, (left, top, right, bottom) in enumerate(boxes):
        assert left >= 0
        assert top >= 0
        assert right <= width
        assert bottom <= height
        for other in boxes[:number]:
            assert right <= other[0] or other[2] <= left or bottom <= other[1] or other[3] <= top


@given(diagrams())
def test_every_node_and_edge_is_in_the_svg(diagram: Diagram) -> None:
    drawn = ElementTree.fromstring(to_svg(diagram))
    assert [group[0].text or "" for group in drawn.iter(f"{SVG}g")] == [" ".join(node.lines) for node in diagram.nodes]
    lines = [path for path in drawn.iter(f"{SVG}path") if path.attrib.get("stroke") == "#868e96"]
    assert len(lines) == len(diagram.edges)


@given(diagrams())
def test_a_label_never_becomes_mermaid(diagram: Diagram) -> None:
    lines = to_mermaid(diagram).splitlines()
    statuses = [node.status for node in diagram.nodes if node.status]
    assert len(lines) == 1 + len(diagram.nodes) + len(diagram.edges) + len(statuses) + len(set(statuses))
    for line in lines[1 : 1 + len(diagram.nodes) + len(diagram.edges)]:
        assert line.count('"') in (0, 2)


def test_mermaid_shows_a_label_as_it_is_and_commands_nothing_on_a_terminal() -> None:
    hostile = "`**a**` #lt; #35; \x1b[31m \u202e \r\n \u2028 \ud800"
    drawn = to_mermaid(Diagram((DiagramNode("n", (hostile,)),)))
    assert drawn.splitlines()[1:] == [
        r'    n["#96;**a**#96; #35;lt; #35;35; \x1b[31m \u202e     \ud800"]',
    ]


class Tags(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.seen: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.add(tag)
        assert not any(name.startswith("on") or (value or "").startswith("javascript") for name, value in attrs)


@given(TEXTS)
def test_no_text_becomes_html(text: str) -> None:
    hostile = f"<script>alert(1)</script><img src=x onerror=alert(1)>{text}"
    diagram = Diagram((DiagramNode("a", (hostile,)), DiagramNode("b", ("b",))), (DiagramEdge("a", "b", hostile),))
    tags = Tags()
    tags.feed(render_card(hostile, {hostile: hostile}, diagram, {hostile: hostile}))
    assert not {"script", "img"} & tags.seen


def test_edges_over_several_layers_have_a_place_between_the_nodes_that_they_pass() -> None:
    nodes = tuple(DiagramNode(name, (name,)) for name in "abc")
    svg = to_svg(Diagram(nodes, (DiagramEdge("a", "b"), DiagramEdge("b", "c"), DiagramEdge("a", "c"))))
    long = [path.attrib["d"] for path in ElementTree.fromstring(svg).iter(f"{SVG}path")][-1]
    passed = boxes_of(svg)[1]
    points = [tuple(map(float, point.split(","))) for point in re.findall(r"[\d.]+,[\d.]+", long)]
    inside = [(x, y) for x, y in points if passed[0] <= x <= passed[2] and passed[1] <= y <= passed[3]]
    assert not inside


def test_a_long_text_is_cut_and_its_length_is_said() -> None:
    card = render_card("run", {}, details={"messages": "x" * 50_000})
    assert len(card) < 25_000
    assert "50,000 characters" in card


def test_a_notebook_gets_text_html_and_mermaid() -> None:
    diagram = Diagram((DiagramNode("a", ("one",)),))
    bundle = render_mimebundle("plain", "title", {"fact": "yes", "nothing": ""}, diagram)
    assert bundle["text/plain"] == "plain"
    assert "<svg" in bundle["text/html"]
    assert "nothing" not in bundle["text/html"]
    assert bundle["text/vnd.mermaid"] == to_mermaid(diagram)
