"""JSON texts as data: bounded, and without what is said twice."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import NoReturn, TypeAlias

from tactician.blueprint.limits import Limits
from tactician.blueprint.places import Path, written
from tactician.errors import Problem

Data: TypeAlias = "dict[str, Data] | list[Data] | str | int | float | bool | None"


class Unreadable(ValueError):  # noqa: N818 - it says what is wrong
    """A text is no data that a blueprint could be."""

    def __init__(self, message: str, line: int | None = None, path: Path = ()) -> None:
        super().__init__(message)
        self.problem = Problem(written(path), message, line=line)


def from_json(text: str, limits: Limits) -> Data:
    """The data of a JSON text.

    Raises:
        Unreadable: when it is not JSON, says something twice, or is too large.
    """
    check_size(text, limits)
    try:
        data: Data = json.loads(text, object_pairs_hook=_once, parse_constant=_no_number)
    except json.JSONDecodeError as error:
        raise Unreadable(f"it is not JSON: {error.msg}", error.lineno) from error
    except RecursionError:
        raise too_deep(limits) from None
    except ValueError as error:  # an integer of thousands of digits
        raise error if isinstance(error, Unreadable) else Unreadable(f"it is not JSON: {error}") from error
    check_data(data, limits)
    return data


def check_size(text: str, limits: Limits) -> None:
    """Nothing, for a text that is not too long.

    Raises:
        Unreadable: when it is.
    """
    if len(text) > limits.size:
        raise Unreadable(f"it has {len(text):,} characters, and at most {limits.size:,} are read")


def check_data(data: Data, limits: Limits) -> None:
    """Nothing, for data that has neither too many values nor is nested too deep.

    Raises:
        Unreadable: when it is.
    """
    count, level = 0, [data]
    for _ in range(limits.depth + 1):
        if (count := count + len(level)) > limits.values:
            raise too_many(limits)
        if not (level := [inner for one in level for inner in _inside(one)]):
            return
    raise too_deep(limits)


def measured(data: Data) -> tuple[int, int]:
    """How many values data has, and how deep they are nested."""
    count, depth, level = 1, 0, list(_inside(data))
    while level:
        count, depth = count + len(level), depth + 1
        level = [inner for one in level for inner in _inside(one)]
    return count, depth


def too_many(limits: Limits, line: int | None = None) -> Unreadable:
    """There are more values than are read."""
    return Unreadable(f"it has more than {limits.values:,} values", line)


def too_deep(limits: Limits, line: int | None = None) -> Unreadable:
    """It is nested deeper than is read."""
    return Unreadable(f"it is nested more than {limits.depth} deep", line)


def _once(pairs: list[tuple[str, Data]]) -> dict[str, Data]:
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        twice = ", ".join(sorted({repr(name) for name in names if names.count(name) > 1}))
        raise Unreadable(f"{twice} is said twice in one object")
    return found


def _no_number(name: str) -> NoReturn:
    raise Unreadable(f"{name} is no number")


def _inside(data: Data) -> Iterator[Data]:
    if isinstance(data, dict):
        yield from data.values()
    elif isinstance(data, list):
        yield from data
