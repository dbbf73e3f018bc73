"""Tables in terminals of any width: no word and no figure is cut."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from itertools import chain

from rich.cells import cell_len
from rich.console import Console
from rich.table import Table
from rich.text import Text

_FRAME = 3
"""Characters around the cells of a column: a border, and a space on both sides."""


def print_table(
    console: Console,
    columns: Sequence[str],
    rows: Sequence[Sequence[Text | str]],
    *,
    figures: Collection[str] = (),
    title: str | None = None,
) -> None:
    """Print rows as a table; where a word is too long for it, each cell on a line of its own, after its heading.

    Args:
        console: the terminal.
        columns: the headings.
        rows: the cells of each row: texts, without markup.
        figures: the headings of columns of figures, which are aligned right.
        title: title of the table.
    """
    cells = [[cell if isinstance(cell, Text) else Text(cell) for cell in row] for row in rows]
    widths = _find_widths(columns, cells, console.width - len(columns) * _FRAME - 1)
    if widths is None:
        for line in chain([Text(title)] if title else (), _list_lines(columns, cells)):
            console.print(line, soft_wrap=True)
        return
    table = Table(title=title, title_justify="left")
    for name, width in zip(columns, widths, strict=True):
        table.add_column(name, width=width, justify="right" if name in figures else "left")
    for row in cells:
        table.add_row(*row)
    console.print(table)


def _find_widths(columns: Sequence[str], cells: Sequence[Sequence[Text]], space: int) -> list[int] | None:
    """Return the widths of columns that cut no word, and share the space; `None` when the words need more."""
    shapes = [[Text(name), *(row[place] for row in cells)] for place, name in enumerate(columns)]
    least = [max(cell_len(word) for cell in shape for word in cell.plain.split() or [""]) for shape in shapes]
    most = [max(cell_len(line) for cell in shape for line in cell.plain.split("\n")) for shape in shapes]
    spare, wished = space - sum(least), sum(most) - sum(least)
    if spare < 0:
        return None
    share = min(1.0, spare / wished) if wished else 0.0
    return [low + int((high - low) * share) for low, high in zip(least, most, strict=True)]


def _list_lines(columns: Sequence[str], cells: Sequence[Sequence[Text]]) -> Iterator[Text]:
    """Yield a line for each line of each cell, with an empty line between the rows."""
    width = max(map(len, columns))
    for number, row in enumerate(cells):
        if number:
            yield Text()
        for name, cell in zip(columns, row, strict=True):
            for place, line in enumerate(cell.split("\n") if cell.plain else ()):
                heading = "" if place else name
                yield Text.assemble((f"{heading:<{width}}  ", "dim"), line)
