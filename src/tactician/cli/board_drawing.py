"""Drawing of a board of tasks on a terminal of any width: a line for each task, and another one for its detail."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from rich.console import Console, ConsoleOptions
from rich.text import Text

from tactician.cli.formatting import format_on_one_line, shorten

_LONGEST_NAME: Final = 60
_FEWEST: Final = 12
"""Columns that names keep beside figures; beside roles they keep twice as many."""


@dataclass(frozen=True, slots=True)
class BoardLine:
    """Task as the board shows it.

    Attributes:
        mark: sign of its state, as markup.
        depth: number of tasks around it.
        name: its name.
        role: the role of its agent.
        figures: duration, tokens and cost.
        detail: what it waits for, or why it failed or was skipped.
    """

    mark: str
    depth: int
    name: str
    role: str
    figures: str
    detail: str


@dataclass(frozen=True, slots=True)
class BoardDrawing:
    """Drawing of lines, with notes on what is left out before and after them."""

    lines: Sequence[BoardLine]
    before: str = ""
    after: str = ""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[Text]:
        """Yield the lines. None is wider than the terminal, which would break it, and so the place of all others."""
        if self.before:
            yield _fit(Text(f"  {self.before}", "dim"), options.max_width)
        columns = self._share(options.max_width)
        for line in self.lines:
            yield _fit(_draw(line, *columns), options.max_width)
            if line.detail:
                detail = _indent(line, format_on_one_line(shorten(line.detail)))
                yield _fit(Text(f"  {detail}", "dim"), options.max_width)
        if self.after:
            yield _fit(Text(f"  {self.after}", "dim"), options.max_width)

    def _share(self, width: int) -> tuple[int, int, int]:
        """Return the columns of names, of roles and of figures; none for what would leave too little to names."""
        names = max((_name(line).cell_len for line in self.lines), default=0)
        roles = max((_role(line).cell_len for line in self.lines), default=0)
        figures = max((len(line.figures) for line in self.lines), default=0)
        room = width - 2
        if room - figures - 1 < min(names, _FEWEST):
            figures = 0
        room -= figures + 1
        if room - roles - 1 < min(names, 2 * _FEWEST):
            roles = 0
        return min(names, room - roles - 1), roles, figures


def _draw(line: BoardLine, names: int, roles: int, figures: int) -> Text:
    parts = [Text.from_markup(line.mark), _fit(_name(line), names)]
    if roles:
        parts.append(_fit(_role(line), roles))
    if figures:
        parts.append(Text(line.figures.rjust(figures), "dim"))
    return Text(" ").join(parts)


def _name(line: BoardLine) -> Text:
    return Text(_indent(line, format_on_one_line(shorten(line.name, _LONGEST_NAME))))


def _role(line: BoardLine) -> Text:
    return Text(format_on_one_line(shorten(line.role, _LONGEST_NAME)), "dim")


def _indent(line: BoardLine, text: str) -> str:
    return f"{'  ' * line.depth}{text}"


def _fit(text: Text, width: int) -> Text:
    """Return the text with as many columns."""
    text.no_wrap = True
    text.truncate(max(0, width), overflow="ellipsis", pad=True)
    return text
