"""Kinds of the settings of an agent: a value of another kind is an error where the agent is made, not where it runs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from typing import Final, get_args, get_origin, get_type_hints

from tactician.amounts import Positive
from tactician.llm import LlmOptions
from tactician.prompts.sources import InstructionSource


def find_wrong_kinds(settings: Mapping[str, object], declared: type) -> list[str]:
    """Return a description of each setting whose value is of another kind than it needs.

    Args:
        settings: the settings.
        declared: the `TypedDict` that declares them.
    """
    wrong = []
    for name, value in settings.items():
        # Most agents have these, and to check them takes a third of the time in which an agent is made.
        if value is None or (name, type(value)) in _USUAL:
            continue
        check = _find_check(declared, name)
        if check is not None and not check[0](value):
            wrong.append(f"{name} {check[1].format(_show(value))}")
    return wrong


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


_USUAL: Final = frozenset({("model", str), ("instructions", str), ("tools", list), ("output_type", type)})
_LIST: Final = (_is_list, "is {}: write a list, in brackets")
_NUMBER: Final = (_is_number, "must be > 0, got: {}")
_KINDS: Final[Mapping[str, tuple[Callable[[object], bool], str]]] = {
    "model": (_is_model, 'is {}: write the name of a model, as in "openai:gpt-5.4", LlmOptions(...) or a model'),
    "instructions": (lambda value: isinstance(value, str | InstructionSource), "is {}: write a text"),
    "window": (_has("start"), "is {}: write a window, as in SlidingWindow(max_tokens=4000)"),
}


@cache
def _find_check(declared: type, name: str) -> tuple[Callable[[object], bool], str] | None:
    """Return the check of a setting: the type of a list or a number says what it needs.

    Only the types of settings that a program uses are evaluated: to evaluate all would double the time of a first
    agent.
    """
    if name in _KINDS:
        return _KINDS[name]
    alone = {"__annotations__": {name: declared.__annotations__[name]}, "__module__": declared.__module__}
    kind = get_type_hints(type(name, (), alone), include_extras=True)[name]
    if Positive in (kind, *get_args(kind)):
        return _NUMBER
    return _LIST if get_origin(kind) is Sequence else None
