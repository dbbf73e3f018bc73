"""Mistakes that ensembles and their tasks find, at the places of their parts."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final, TypeVar

from pydantic.alias_generators import to_camel

from tactician.blueprint.builder import Builder
from tactician.blueprint.ensembles.task_parts import TaskPart
from tactician.blueprint.schema_base import Part
from tactician.documents.data import DataPath
from tactician.ensemble import EnsembleDefinitionError
from tactician.errors import Problem

T = TypeVar("T")
_STEP: Final = re.compile(r"""\[(?P<key>'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*")\]|(?P<name>[^.\[\]]+)""")
_OTHER_NAMES: Final = {"tools": "tool_class_names", "reviewer": "task", "review": "reviews"}


def build_checked(make: Callable[[], T], part: Part, builder: Builder) -> T | None:
    """Call `make`, and add all mistakes that it finds, at their places in the part."""
    try:
        return make()
    except EnsembleDefinitionError as error:
        add_problems(error.problems, part, builder)
        return None


def add_problems(problems: Sequence[Problem], part: Part, builder: Builder) -> None:
    """Add mistakes of a task, a group, a phase or an ensemble at the places in its part."""
    for problem in problems:
        builder.add_problem(problem.message, *_find_path(part, list(_split_path(problem.path))))


def _split_path(path: str) -> Iterator[str | int]:
    for match in _STEP.finditer(path):
        if (key := match["key"]) is not None:
            yield str(ast.literal_eval(key))
        else:
            yield int(match["name"]) if match["name"].isdecimal() else match["name"]


def _find_path(part: Part, steps: Sequence[str | int]) -> DataPath:
    """Return the path of the data for the path of an argument."""
    path: list[str | int] = []
    value: object = part
    for step in steps:
        if not isinstance(value, Part):
            path.append(step if value is not None or isinstance(step, int) else to_camel(step))
            value = _get_item(value, step)
            continue
        fields = type(value).model_fields
        if isinstance(value, TaskPart) and isinstance(value.handler, Part) and step not in (*fields, *_OTHER_NAMES):
            path.append("handler")  # which is the task itself in Python
            value = value.handler
            fields = type(value).model_fields
        name = str(step) if step in fields else _OTHER_NAMES.get(str(step), str(step))
        path.append(to_camel(name))
        value = getattr(value, name, None)
    return tuple(path)


def _get_item(value: object, step: str | int) -> object:
    if isinstance(value, Mapping):
        return value.get(step)
    if isinstance(value, Sequence) and not isinstance(value, str) and isinstance(step, int):
        return value[step] if step < len(value) else None
    return None
