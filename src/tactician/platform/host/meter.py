"""Use of models over time, added up from the events of runs."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final

from tactician.events import Event
from tactician.llm import Usage
from tactician.llm.usage import NO_USAGE
from tactician.loop import TurnCompleted, TurnFailed
from tactician.runs import ModelReturned

METER_SPAN: Final = 60.0
"""Seconds of each point."""
DAY: Final = 24 * 3600.0
COUNTED: Final = frozenset({TurnCompleted.type, TurnFailed.type, ModelReturned.type})
"""Types of the events that end a call."""
_MOST_POINTS: Final = 24 * 60
_MOST_MODELS: Final = 200


@dataclass(slots=True)
class UsePoint:
    """Use of a model in a span of time.

    Attributes:
        at: beginning of the span, in seconds since the epoch.
        calls: calls that ended.
        errors: the number of calls that failed.
        seconds: how long all of them took together.
        usage: tokens of all of them.
    """

    at: float
    calls: int = 0
    errors: int = 0
    seconds: float = 0.0
    usage: Usage = field(default=NO_USAGE)
    _priced: tuple[Usage, float | None] = field(default=(NO_USAGE, 0.0), repr=False)

    def include(self, other: UsePoint) -> None:
        """Add the calls of another point."""
        self.calls += other.calls
        self.errors += other.errors
        self.seconds += other.seconds
        self.usage = self.usage + other.usage

    @property
    def cost(self) -> float | None:
        """US dollars; `None` when a price is not known. Prices are looked up once for each change."""
        if self._priced[0] is not self.usage:
            self._priced = (self.usage, self.usage.cost)
        return self._priced[1]


class ModelMeter:
    """Use of each model in each minute of the last day, as far as this program has seen it, or the store has it.

    Args:
        since: the same.

    Attributes:
        since: time from which the use is counted, in seconds since the epoch.
    """

    def __init__(self, since: float = 0.0) -> None:
        self.since = since
        self._points: OrderedDict[str, dict[float, UsePoint]] = OrderedDict()
        self._names: OrderedDict[str, str] = OrderedDict()

    @property
    def points(self) -> Mapping[str, tuple[UsePoint, ...]]:
        """Points of each model, the oldest first. A span without a call has none."""
        return {model: tuple(points[at] for at in sorted(points)) for model, points in self._points.items()}

    def note(self, event: Event) -> None:
        """Take an event into account, if it is the end of a call."""
        match event:
            case TurnCompleted(response=response):
                for model, usage in _split(response.usage, response.model or "unknown"):
                    self._learn(model)
                    self._add(event.time, model, event.seconds, usage)
            case TurnFailed():
                self._add(event.time, self._names.get(event.model, event.model), event.seconds, NO_USAGE, is_error=True)
            case ModelReturned():
                self._add(event.time, event.model, event.seconds, event.usage, is_error=event.error is not None)
            case _:
                pass

    def _learn(self, model: str) -> None:
        """Note the whole name of a model that answers, `instance:model`: calls that fail have the model only."""
        bare = model.partition(":")[2]
        if not bare:
            return
        self._names[bare] = model
        if len(self._names) > _MOST_MODELS:
            self._names.popitem(last=False)
        for point in self._points.pop(bare, {}).values():
            self._get_point(model, point.at).include(point)

    def _get_point(self, model: str, at: float) -> UsePoint:
        return self._points.setdefault(model, {}).setdefault(at, UsePoint(at))

    def _add(self, at: float, model: str, seconds: float, usage: Usage, *, is_error: bool = False) -> None:
        points = self._points.setdefault(model, {})
        if len(self._points) > _MOST_MODELS:
            self._points.popitem(last=False)
        start = at - at % METER_SPAN
        point = self._get_point(model, start)
        if len(points) > _MOST_POINTS:
            del points[min(points)]
        point.include(UsePoint(start, 1, int(is_error), seconds, usage))


def _split(usage: Usage, otherwise: str) -> Iterator[tuple[str, Usage]]:
    """Yield the models of a usage, each with its part: a call that fell back has several."""
    for part in usage.parts or (usage,):
        yield part.model or otherwise, part
