"""What an agent may use at the time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

from tactician.runs import RunContext
from tactician.tools import Toolbox, ToolGroup, tools_in

ToolboxSource: TypeAlias = Callable[[], Toolbox]


class Changed:
    """Tools made of those that an agent has at the time, when it is called; the same as long as it has the same."""

    __slots__ = ("_change", "_made", "_source")

    def __init__(self, source: ToolboxSource, change: Callable[[Toolbox], Toolbox]) -> None:
        self._source = source
        self._change = change
        self._made: tuple[Toolbox, Toolbox] | None = None

    def __call__(self) -> Toolbox:
        """The tools."""
        own = self._source()
        if self._made is None or self._made[0] is not own:
            self._made = own, self._change(own)
        return self._made[1]


async def with_groups(source: ToolboxSource, groups: Sequence[str | ToolGroup], context: RunContext) -> ToolboxSource:
    """An agent's own tools, and those of groups as they are now.

    Raises:
        ConfigurationError: when a name is unknown, or two groups have different tools of one name.
    """
    more = await tools_in(groups, context)
    return Changed(source, lambda own: Toolbox((*own, *more)))
