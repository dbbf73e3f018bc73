"""Kinds of the settings of an agent: a value of another kind is an error where the agent is made, not where it runs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from types import NoneType
from typing import Final, get_args, get_origin

from tactician.amounts import Positive
from tactician.data_fields import list_data_fields
from tactician.llm import LlmOptions
from tactician.prompts import InstructionSource


def find_wrong_kinds(settings: Mapping[str, object], declared: type) -> list[str]:
    """Return a description of each setting whose value is of another kind than it needs.

    Args:
        settings: the settings.
        declared: the `TypedDict` that declares them.
    """
    checks = _list_checks(declared)
    return [
        f"{name} {checks[name][1].format(_show(value))}"
        for name, value in settings.items()
        if value is not None and name in checks and not checks[name][0](value)
    ]


def _is_list(value: object) -> bool:
    return isinstance(value, list | tuple) or (isinstance(value, Iterable) and not isinstance(value, str | Mapping))


def _is_model(value: object) -> bool:
    return isinstance(value, str | LlmOptions) or hasattr(value, "generate") or hasattr(value, "resolve")


def _is_number(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value > 0


def _has(name: str) -> Callable[[object], bool]:
    return lambda value: hasattr(value, name)


def _show(value: object) -> str:
    shown = repr(value)
    return shown if len(shown) <= 60 else f"a {type(value).__name__}"


_LIST: Final = (_is_list, "is {}: write a list, in brackets")
_NUMBER: Final = (_is_number, "must be > 0, got: {}")
_KINDS: Final[Mapping[str, tuple[Callable[[object], bool], str]]] = {
    "model": (_is_model, 'is {}: write the name of a model, as in "openai:gpt-5.4", LlmOptions(...) or a model'),
    "instructions": (lambda value: isinstance(value, str | InstructionSource), "is {}: write a text"),
    "window": (_has("start"), "is {}: write a window, as in SlidingWindow(max_tokens=4000)"),
}


@cache
def _list_checks(declared: type) -> Mapping[str, tuple[Callable[[object], bool], str]]:
    """Return the check of each setting that has one: lists and numbers say in their types what they need."""
    checks = dict(_KINDS)
    for field in list_data_fields(declared):
        kind = next((each for each in get_args(field.kind) if each is not NoneType), field.kind)
        if Positive in (field.kind, kind):
            checks[field.name] = _NUMBER
        elif get_origin(field.kind) is Sequence:
            checks[field.name] = _LIST
    return checks
