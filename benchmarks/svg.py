"""Panels of points on logarithmic scales, as one SVG. All panels share the vertical scale, so that slopes compare."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from xml.sax.saxutils import escape

COLUMNS = 3
WIDTH, HEIGHT = 250, 190  # of the field of a panel
LEFT, TOP, GAP, BELOW = 62, 92, 34, 88
INK, FAINT, LINES = "#24292f", "#656d76", "#e4e8ec"
FONT = "system-ui, -apple-system, 'Segoe UI', Helvetica, Arial, sans-serif"

Point = tuple[float, float]


@dataclass(frozen=True, slots=True)
class Series:
    """Points, the smallest first, in a colour; `fitted` are the ends of a line that was fitted to them."""

    name: str
    colour: str
    points: tuple[Point, ...]
    fitted: tuple[Point, Point] | None = None


@dataclass(frozen=True, slots=True)
class Panel:
    """Some series on a field; `label` says what its horizontal scale is, `exponent` how fast the last series grows."""

    title: str
    label: str
    exponent: float
    series: tuple[Series, ...]


class Scale:
    """From values to places, logarithmically."""

    def __init__(self, low: float, high: float, start: float, end: float) -> None:
        self.low, self.high = low, high
        self._start, self._end = start, end

    def __call__(self, value: float) -> float:
        share = math.log(value / self.low) / math.log(self.high / self.low)
        return self._start + share * (self._end - self._start)


def figure(title: str, remark: str, panels: Sequence[Panel], show: Callable[[float], str]) -> str:
    """Draw the panels, a row after the other; `show` writes a value of the vertical scale."""
    rows = math.ceil(len(panels) / COLUMNS)
    width, height = LEFT + COLUMNS * (WIDTH + GAP), TOP + rows * (HEIGHT + BELOW)
    values = [y for panel in panels for series in panel.series for _, y in series.points]
    low, high = 10 ** math.floor(math.log10(min(values))), 10 ** math.ceil(math.log10(max(values)))
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" font-family="{FONT}">',
        f"<title>{escape(title)}</title>",
        f'<rect width="{width}" height="{height}" fill="#ffffff"/>',
        text(20, 30, title, size=17, weight=600),
        text(20, 49, remark, colour=FAINT, size=12),
    ]
    for number, panel in enumerate(panels):
        row, column = divmod(number, COLUMNS)
        left, top = LEFT + column * (WIDTH + GAP), TOP + row * (HEIGHT + BELOW) + 14
        parts += drawn(panel, Scale(low, high, top + HEIGHT, top), left, show if column == 0 else None)
    legend = {series.name: series.colour for panel in panels for series in panel.series}
    return "\n".join([*parts, *keys(legend, width - GAP, 30), "</svg>", ""])


def drawn(panel: Panel, vertical: Scale, left: float, show: Callable[[float], str] | None) -> Iterator[str]:
    """Draw a panel; with `show`, its vertical scale has words."""
    bottom, top = vertical(vertical.low), vertical(vertical.high)
    sizes = [x for series in panel.series for x, _ in series.points]
    horizontal = Scale(min(sizes) / 1.25, max(sizes) * 1.25, left, left + WIDTH)
    yield text(left, top - 12, panel.title, size=13, weight=600)
    for value in decades(vertical):
        yield line((left, vertical(value)), (left + WIDTH, vertical(value)), LINES)
        if show:
            yield text(left - 8, vertical(value) + 4, show(value), colour=FAINT, anchor="end")
    for value in dict.fromkeys(sizes):
        yield line((horizontal(value), bottom), (horizontal(value), top), LINES)
    for value in readable(sorted(set(sizes)), horizontal):
        yield text(horizontal(value), bottom + 16, f"{value:,g}", colour=FAINT, anchor="middle")
    yield text(left + WIDTH / 2, bottom + 33, panel.label, colour=FAINT, anchor="middle")
    for series in panel.series:
        yield from curve(series, horizontal, vertical)
    yield power(left + 10, top + 22, panel.exponent, panel.series[-1].colour)


def curve(series: Series, horizontal: Scale, vertical: Scale) -> Iterator[str]:
    places = [(horizontal(x), vertical(y)) for x, y in series.points]
    if series.fitted:
        start, end = ((horizontal(x), vertical(y)) for x, y in series.fitted)
        yield line(start, end, series.colour, 'stroke-width="11" stroke-opacity="0.2" stroke-linecap="round"')
    path = " ".join(f"{x:.1f},{y:.1f}" for x, y in places)
    yield f'<polyline points="{path}" fill="none" stroke="{series.colour}" stroke-width="1.8"/>'
    for x, y in places:
        yield f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3.4" fill="{series.colour}" stroke="#ffffff"/>'


def keys(names: dict[str, str], right: float, top: float) -> Iterator[str]:
    """Draw what the colours mean, from the right to the left."""
    for name, colour in names.items():
        yield text(right, top, name, anchor="end", size=12)
        right -= 6.6 * len(name) + 12
        yield f'<circle cx="{right:.1f}" cy="{top - 4:.1f}" r="4.5" fill="{colour}"/>'
        right -= 20


def decades(scale: Scale) -> list[float]:
    first, last = round(math.log10(scale.low)), round(math.log10(scale.high))
    return [10.0**power for power in range(first, last + 1)]


def readable(values: Iterable[float], scale: Scale) -> list[float]:
    """Leave out the values whose words would touch those of the one before."""
    kept: list[float] = []
    for value in values:
        if not kept or scale(value) - scale(kept[-1]) > 6 * len(f"{value:,g}") + 6:
            kept.append(value)
    return kept


def power(x: float, y: float, exponent: float, colour: str) -> str:
    raised = f'<tspan dy="-6" font-size="11">{exponent:.2f}</tspan>'
    return f'<text x="{x:.1f}" y="{y:.1f}" fill="{colour}" font-size="15" font-weight="600">n{raised}</text>'


def line(start: Point, end: Point, colour: str, style: str = "") -> str:
    (x1, y1), (x2, y2) = start, end
    return f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" stroke="{colour}" {style}/>'


def text(
    x: float, y: float, words: str, *, colour: str = INK, size: int = 11, weight: int = 400, anchor: str = "start"
) -> str:
    style = f'fill="{colour}" font-size="{size}" font-weight="{weight}" text-anchor="{anchor}"'
    return f'<text x="{x:.1f}" y="{y:.1f}" {style}>{escape(words)}</text>'
