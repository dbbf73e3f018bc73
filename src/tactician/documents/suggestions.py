"""Spelling suggestions for unknown names."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from difflib import get_close_matches
from functools import wraps
from inspect import iscoroutinefunction, signature
from typing import Any, Final, ParamSpec, TypeVar, cast

P = ParamSpec("P")
R = TypeVar("R")

_ADVICE: Final[Mapping[str, str]] = {
    "idempotency_key": " It is an option of `platform.enqueue`.",
    "deadline": " It is an option of `platform.enqueue`; a run has `budget=Budget(seconds=...)`.",
    "priority": " It is an option of `platform.enqueue`.",
    "timeout": " Write `budget=Budget(seconds=...)`; streams have a `timeout`.",
    "max_turns": " It is a setting of the agent: `Agent(..., max_turns=...)`.",
    "model": " It is a setting of the agent: `Agent(..., model=...)`.",
    "output_type": " It is a setting of the agent: `Agent(..., output_type=...)`.",
    "memory_id": " Write `options=ProcessOptions(memory_id=...)`.",
}
"""Where an option belongs that what was called does not have."""

_CUTOFF = 0.6
_LONGEST = 100


def find_closest(name: str, known: Iterable[str], cutoff: float = _CUTOFF) -> str | None:
    """Return the most similar known name, or `None` if no similarity reaches the cutoff.

    Args:
        name: the unknown name.
        known: the names to choose from.
        cutoff: the minimum similarity, from 0 to 1.
    """
    if len(name) > _LONGEST:
        return None
    return next(iter(get_close_matches(name, known, n=1, cutoff=cutoff)), None)


def find_closest_spelling(name: str, known: Iterable[str], cutoff: float = _CUTOFF) -> str | None:
    """Return the closest name by letters and digits alone, in any case: `max_tokens` finds `maxTokens`."""
    spellings = {_normalize(candidate): candidate for candidate in known}
    closest = find_closest(_normalize(name), spellings, cutoff)
    return None if closest is None else spellings[closest]


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """Return a question to append to a message, with a leading space; empty if no known name is similar."""
    names = list(known)
    lowered = name.lower() if len(name) <= _LONGEST else None
    closest = next((other for other in names if other.lower() == lowered), None) or find_closest(name, names)
    return "" if closest is None else f" Did you mean {closest!r}?"


def suggest_options(called: Callable[P, R]) -> Callable[P, R]:
    """Decorate a function with keyword options: the error for an unknown option suggests another.

    Args:
        called: the function, plain or `async`.
    """
    names = frozenset(signature(called).parameters)
    label = called.__name__

    def check(options: Mapping[str, object]) -> None:
        if not options.keys() <= names:
            raise TypeError(_describe(label, min(options.keys() - names), names))

    if iscoroutinefunction(called):
        run = cast("Callable[..., Any]", called)

        @wraps(called)
        async def call_async(*args: P.args, **options: P.kwargs) -> object:
            check(options)
            return await run(*args, **options)

        return cast("Callable[P, R]", call_async)

    @wraps(called)
    def call(*args: P.args, **options: P.kwargs) -> R:
        check(options)
        return called(*args, **options)

    return call


def _describe(label: str, name: str, names: frozenset[str]) -> str:
    options = sorted(names - {"self", "input", "objects"})
    hint = did_you_mean(name, options) or _ADVICE.get(name) or f" Its options are {', '.join(options)}."
    return f"{label}() has no option {name!r}.{hint}"


def _normalize(name: str) -> str:
    return re.sub(r"[^a-z0-9]", "", name.lower())
