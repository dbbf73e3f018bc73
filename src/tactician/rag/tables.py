"""Tables in Markdown, whose heads are repeated where a long table is divided."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Sequence
from typing import Final, NamedTuple

_TABLE: Final = re.compile(
    r"^(?P<head> {0,3}\|[^\n]*\n {0,3}\|(?=[^\n]*-)[ \t:|-]*\n)(?P<rows>(?: {0,3}\|[^\n]*(?:\n|\Z))+)", re.MULTILINE
)


class Table(NamedTuple):
    """Table in a text.

    Attributes:
        head: the names of its columns, with the line under them.
        start: the place of its first row.
        end: the place after its last row.
    """

    head: str
    start: int
    end: int


def find_tables(text: str, longest_head: int) -> list[Table]:
    """Return the tables of a text whose heads are not too long to be repeated."""
    tables = (Table(match["head"], match.start("rows"), match.end()) for match in _TABLE.finditer(text))
    return [table for table in tables if len(table.head) <= longest_head]


class TableHeads:
    """Heads of the tables of a text, by their places.

    Args:
        tables: the tables, in order.
    """

    def __init__(self, tables: Sequence[Table]) -> None:
        self._tables = tables
        self._starts = [table.start for table in tables]

    def find(self, text: str, start: int) -> str:
        """Return the head of the table that a piece of the text begins in; empty where it begins elsewhere."""
        # Within a row, the head would name the wrong columns.
        if start == 0 or text[start - 1] != "\n":
            return ""
        place = bisect_right(self._starts, start) - 1
        return self._tables[place].head if place >= 0 and start < self._tables[place].end else ""
