"""What is printed: sections of one report, as a table on a terminal or in Markdown."""

from __future__ import annotations

import os
import platform
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any


@dataclass(slots=True)
class Section:
    """A part of the report. The first column names the row; `mismatches` are what must never happen."""

    title: str
    columns: tuple[str, ...]
    rows: list[tuple[str, ...]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    raw: Any = None
    mismatches: list[str] = field(default_factory=list)

    def add(self, *cells: str) -> None:
        """Add a row; cells that are left out are empty."""
        self.rows.append(cells + ("",) * (len(self.columns) - len(cells)))

    def add_failure(self, name: str, reason: str) -> None:
        """Add a row for what could not be measured, and say why below the table."""
        self.add(name, "not measured")
        self.notes.append(f"{name}: {reason}")


def judge(value: float, limit: float, unit: str = "") -> str:
    """Say whether a budget is kept: `≤ 1.5 x ok` or `≤ 1.5 x OVER`."""
    return f"≤ {limit:g}{unit} {'ok' if value <= limit else 'OVER'}"


def machine() -> str:
    """Describe the machine, without its name."""
    now = datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC")
    python = f"{platform.python_implementation()} {platform.python_version()}"
    return f"{processor()}, {os.cpu_count()} cores, {platform.system()}, {python}, {now}"


def processor() -> str:
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.exists():
        for line in cpuinfo.read_text().splitlines():
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    return platform.processor() or platform.machine()


def show(header: str, sections: Iterable[Section]) -> None:
    """Print for people: with rich where it is installed, plainly where it is not."""
    try:
        show_rich(header, sections)
    except ImportError:
        print(f"\n{header}")
        for section in sections:
            print(f"\n{section.title}\n{plain(section)}")


def show_rich(header: str, sections: Iterable[Section]) -> None:
    from rich.box import SIMPLE_HEAD
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    console = Console(highlight=False)
    console = console if console.is_terminal else Console(highlight=False, width=160)
    console.print(f"\n{header}")
    for section in sections:
        caption = "\n".join(section.notes)
        table = Table(title=section.title, caption=caption, box=SIMPLE_HEAD)
        table.title_justify = table.caption_justify = "left"
        table.title_style, table.caption_style = "bold", "dim"
        for index, column in enumerate(section.columns):
            table.add_column(column, justify="right" if index else "left")
        for row in section.rows:
            table.add_row(*(Text(cell, style=style(cell)) for cell in row))
        console.print(table)


def style(cell: str) -> str:
    if cell.endswith(" ok") or cell == "equal":
        return "green"
    return "bold red" if "OVER" in cell or "DIFFERENT" in cell else ""


def plain(section: Section) -> str:
    widths = [max(map(len, column)) for column in zip(section.columns, *section.rows, strict=True)]
    lines = [aligned(section.columns, widths), "  ".join("-" * width for width in widths)]
    lines += [aligned(row, widths) for row in section.rows]
    return "\n".join([*lines, *section.notes])


def aligned(cells: Sequence[str], widths: Sequence[int]) -> str:
    first, *rest = (
        cell.rjust(width) if index else cell.ljust(width)
        for index, (cell, width) in enumerate(zip(cells, widths, strict=True))
    )
    return "  ".join([first, *rest]).rstrip()


def markdown(header: str, sections: Iterable[Section]) -> str:
    """Return the report as Markdown, for a README."""
    parts = [header]
    for section in sections:
        ruler = [":--", *("--:" for _ in section.columns[1:])]
        table = "\n".join("| " + " | ".join(cells) + " |" for cells in (section.columns, ruler, *section.rows))
        parts += [f"**{section.title}**", table, *section.notes]
    return "\n\n".join(parts) + "\n"
