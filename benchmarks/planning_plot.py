"""Plots how planning time grows with the size of a problem, for each family of problems."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from benchmarks.svg import Panel, Point, Series, figure

OWN, PEER = "#0969da", "#afb8c1"
FITTED = 3  # of the largest sizes: at the smaller ones, the part that does not grow hides the rest


@dataclass(frozen=True, slots=True)
class Timed:
    """The seconds that a problem took: Tactician's, and those of Fast Downward's search where it ended."""

    family: str
    size: int
    own: float
    peer: float | None


LABELS = {  # the title of a family, what its horizontal scale is, and to which power that has the size
    "chain {}": ("Chains", "actions, one after another", 1),
    "{} inputs": ("Fan-in", "independent inputs of one goal", 1),
    "grid with deletes, side {}": ("Grids with deletes", "cells, with four actions each", 2),
    "50 inputs, {} distractors": ("Distractors", "actions that lead nowhere, beside 50 inputs", 1),
    "50 inputs, {} temptations": ("Temptations", "dearer ways to the 50 inputs", 1),
    "open mode, 1,000 actions, {} goals": ("Open mode over 1,000 actions", "goals, each with a plan", 1),
}


def plot(timed: Sequence[Timed]) -> str:
    """Return the SVG."""
    families = dict.fromkeys(one.family for one in timed)
    panels = [panel(family, [one for one in timed if one.family == family]) for family in families]
    remark = f"Time of a first plan; the band and its exponent are fitted to the {FITTED} largest sizes"
    return figure("How planning time grows", remark, panels, duration)


def panel(family: str, timed: Sequence[Timed]) -> Panel:
    title, label, power = LABELS[family]
    own = tuple((float(one.size**power), one.own) for one in timed)
    peer = tuple((float(one.size**power), one.peer) for one in timed if one.peer)
    exponent, band = fitted(own[-FITTED:])
    series = Series("Fast Downward, search only", PEER, peer), Series("Tactician", OWN, own, band)
    return Panel(title, label, exponent, series)


def fitted(points: Sequence[Point]) -> tuple[float, tuple[Point, Point]]:
    """Return the exponent of the power that is nearest to the points, and where it begins and ends."""
    sizes = [size for size, _ in points]
    exponent, offset = statistics.linear_regression(
        [math.log(size) for size in sizes], [math.log(seconds) for _, seconds in points]
    )
    first, last = ((size, math.exp(offset) * size**exponent) for size in (sizes[0], sizes[-1]))
    return exponent, (first, last)


def duration(seconds: float) -> str:
    for unit, worth in ("s", 1.0), ("ms", 1e-3):
        if seconds >= worth * 0.999:
            return f"{seconds / worth:g} {unit}"
    return f"{seconds * 1e6:g} µs"
