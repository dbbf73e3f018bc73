"""Kinds of the settings of an agent: a value of another kind is an error where the agent is made, not where it runs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Final

from tactician.llm import LlmOptions
from tactician.prompts import InstructionSource


def find_wrong_kinds(settings: Mapping[str, object]) -> list[str]:
    """Return a description of each setting whose value is of another kind than it needs."""
    return [
        f"{name} {_KINDS[name][1].format(_show(value))}"
        for name, value in settings.items()
        if value is not None and name in _KINDS and not _KINDS[name][0](value)
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
    "tools": _LIST,
    "references": _LIST,
    "contributors": _LIST,
    "handoffs": _LIST,
    "input_guardrails": _LIST,
    "output_guardrails": _LIST,
    "tool_input_guardrails": _LIST,
    "tool_output_guardrails": _LIST,
    "max_turns": _NUMBER,
    "max_attempts": _NUMBER,
    "max_tool_calls": _NUMBER,
    "max_tool_output_tokens": _NUMBER,
    "max_tool_output_chars": _NUMBER,
}
