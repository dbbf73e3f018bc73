"""Drawings of the search for a plan: the cost of the best plan and the lower bound over time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final
from xml.sax.saxutils import escape as escape_xml

from rich.markup import escape
from rich.tree import Tree

from tactician.planning.search_trace import SearchMilestone, SearchTrace

_MOST_ROWS: Final = 20
_BAR: Final = 40
_WIDTH, _HEIGHT, _MARGIN = 720, 320, 56


def build_search_tree(name: str, trace: SearchTrace) -> Tree:
    """Return the milestones of a search as text: a bar shows the least cost possible, and the plan beyond it."""
    quality = "no plan" if trace.plan is None else trace.plan.quality
    tree = Tree(f"[bold]search[/bold] for {escape(name)}  [dim]{quality}[/dim]")
    if not trace.milestones:
        tree.add("no search was needed")
    top = _find_top(trace.milestones)
    for milestone in _thin_out(trace.milestones):
        cost = "  no plan" if milestone.cost is None else f"{milestone.cost:9.4g}"
        tree.add(
            f"{milestone.expansions:8,} states {milestone.seconds * 1000:9.1f} ms  "
            f"bound {milestone.bound:9.4g}  plan {cost}  [cyan]{_draw_bar(milestone, top)}[/cyan]"
        )
    return tree


def draw_search(name: str, trace: SearchTrace) -> str:
    """Return the milestones of a search as an SVG: the cost of the best plan from above, the bound from below."""
    milestones = trace.milestones
    top, end = _find_top(milestones), max((milestone.seconds for milestone in milestones), default=0.0) or 1.0

    def place(seconds: float, cost: float) -> str:
        x = _MARGIN + (_WIDTH - 2 * _MARGIN) * seconds / end
        return f"{x:.1f},{_HEIGHT - _MARGIN - (_HEIGHT - 2 * _MARGIN) * cost / top:.1f}"

    bounds = [(milestone.seconds, milestone.bound) for milestone in milestones]
    costs = [(milestone.seconds, milestone.cost) for milestone in milestones if milestone.cost is not None]
    lines = [
        f'<polyline points="{" ".join(place(*point) for point in _to_steps(points, end))}" fill="none"'
        f' stroke="{colour}" stroke-width="2"/>'
        for points, colour in ((bounds, "#0969da"), (costs, "#cf222e"))
        if points
    ]
    last = "no plan" if trace.plan is None else f"cost {trace.plan.cost:g}, {trace.plan.quality}"
    labels = [
        f'<text x="{_MARGIN}" y="28" font-weight="bold">{escape_xml(f"Search for {name}: {last}")}</text>',
        f'<text x="{_MARGIN}" y="46" fill="#cf222e">best plan</text>',
        f'<text x="{_MARGIN + 90}" y="46" fill="#0969da">least cost possible</text>',
        f'<text x="{_WIDTH - _MARGIN}" y="{_HEIGHT - 20}" text-anchor="end">{end * 1000:.1f} ms</text>',
        f'<text x="{_MARGIN - 6}" y="{_MARGIN + 4}" text-anchor="end">{top:g}</text>',
        f'<text x="{_MARGIN - 6}" y="{_HEIGHT - _MARGIN + 4}" text-anchor="end">0</text>',
    ]
    size = f'width="{_WIDTH}" height="{_HEIGHT}" viewBox="0 0 {_WIDTH} {_HEIGHT}"'
    body = "\n".join([*lines, *labels])
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" {size} font-family="sans-serif" font-size="12">\n'
        f'<rect width="100%" height="100%" fill="white"/>\n{body}\n</svg>\n'
    )


def _find_top(milestones: Sequence[SearchMilestone]) -> float:
    return max((max(milestone.bound, milestone.cost or 0.0) for milestone in milestones), default=0.0) or 1.0


def _thin_out(milestones: Sequence[SearchMilestone]) -> Sequence[SearchMilestone]:
    """Return a readable number of milestones, including the first and the last."""
    if len(milestones) <= _MOST_ROWS:
        return milestones
    last = len(milestones) - 1
    return [milestones[round(row * last / (_MOST_ROWS - 1))] for row in range(_MOST_ROWS)]


def _draw_bar(milestone: SearchMilestone, top: float) -> str:
    proved = round(_BAR * milestone.bound / top)
    height = proved if milestone.cost is None else round(_BAR * milestone.cost / top)
    return "█" * proved + "░" * (height - proved)


def _to_steps(points: Sequence[tuple[float, float]], end: float) -> list[tuple[float, float]]:
    """Return the corners of a line that keeps each value until the next."""
    corners = list[tuple[float, float]]()
    for seconds, value in points:
        if corners:
            corners.append((seconds, corners[-1][1]))
        corners.append((seconds, value))
    return [*corners, (end, points[-1][1])]
