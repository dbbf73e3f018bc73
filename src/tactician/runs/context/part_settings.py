"""Settings of a part of a run, found in its context: the format of data for models, and the pace of requests."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tactician.context_format import ContextFormatter, JsonFormatter
from tactician.frozen import frozen
from tactician.runs.context.context import RunContext

if TYPE_CHECKING:
    from tactician.resilience.pace import Pace


@frozen
class _RunFormat:
    formatter: ContextFormatter


def with_formatter(context: RunContext, formatter: ContextFormatter) -> RunContext:
    """Return the context with a formatter, for the run and all runs inside it."""
    return context.inside({_RunFormat: _RunFormat(formatter)})


def find_formatter(context: RunContext) -> ContextFormatter | None:
    """Return the formatter of a run; `None` for one that writes JSON, as all do by default."""
    if not context.surroundings:
        return None
    run_format = context.find(_RunFormat)
    return None if run_format is None or isinstance(run_format.formatter, JsonFormatter) else run_format.formatter


def format_data(value: object, context: RunContext) -> str:
    """Return data for a model in the format of the run; text that is JSON too, and other text as it is."""
    formatter = find_formatter(context)
    if formatter is None:
        return value if isinstance(value, str) else JsonFormatter().format(value)
    return formatter.format_json(value) if isinstance(value, str) else formatter.format(value)


class RequestPace:
    """Pace of the requests to models in a part of a run, found by this class in its context.

    Args:
        pace: the pace.
        outer: the pace around that part, which holds too.
    """

    __slots__ = ("_outer", "_pace")

    def __init__(self, pace: Pace, outer: RequestPace | None) -> None:
        self._pace = pace
        self._outer = outer

    async def turn(self) -> None:
        """Wait until it is the turn of a request."""
        if self._outer is not None:
            await self._outer.turn()
        await self._pace.turn()
