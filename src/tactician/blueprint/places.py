"""Where something is: paths into data, as errors write them, and the lines of a text where they are."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TypeAlias

Path: TypeAlias = tuple[str | int, ...]


def written(path: Iterable[str | int]) -> str:
    """A path as errors write it: `routes[0].target.name`."""
    return "".join(f"[{step}]" if isinstance(step, int) else f".{_key(step)}" for step in path).removeprefix(".")


def line_of(path: Path, lines: Mapping[Path, int]) -> int | None:
    """The line of what is there, else of what is around it."""
    while path not in lines and path:
        path = path[:-1]
    return lines.get(path)


def _key(step: str) -> str:
    return step if step and not set(step) & set(".[] ") else f'"{step}"'
