"""Spelling suggestions for unknown names."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import wraps
from inspect import Parameter, iscoroutinefunction, signature
from typing import Any, Final, TypeVar, cast

C = TypeVar("C", bound=Callable[..., object])

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


def find_closest(name: str, candidates: Iterable[str], cutoff: float = _CUTOFF) -> str | None:
    """Return the most similar known name, or `None` if no similarity reaches the cutoff.

    Args:
        name: the unknown name.
        candidates: the names to choose from.
        cutoff: the minimum similarity, from 0 to 1.
    """
    from difflib import get_close_matches

    if len(name) > _LONGEST:
        return None
    return next(iter(get_close_matches(name, candidates, n=1, cutoff=cutoff)), None)


def find_closest_spelling(name: str, candidates: Iterable[str], cutoff: float = _CUTOFF) -> str | None:
    """Return the closest name by letters and digits alone, in any case: `max_tokens` finds `maxTokens`."""
    spellings = {_normalize(candidate): candidate for candidate in candidates}
    closest = find_closest(_normalize(name), spellings, cutoff)
    return None if closest is None else spellings[closest]


def did_you_mean(name: str, candidates: Iterable[str]) -> str:
    """Return a question to append to a message, with a leading space; empty if no known name is similar."""
    names = list(candidates)
    lowered = name.lower() if len(name) <= _LONGEST else None
    closest = next((other for other in names if other.lower() == lowered), None) or find_closest(name, names)
    return "" if closest is None else f" Did you mean {closest!r}?"


def is_misspelling(name: str, other: str) -> bool:
    """Return whether a name is another one with a letter too few, a letter too many, or letters in another order.

    Names that differ only in digits, such as `kitchen-1` and `kitchen-2`, are different names.
    """
    name, other = name.lower(), other.lower()
    if re.sub(r"\d", "", name) == re.sub(r"\d", "", other) and name != other:
        return False
    short, long = sorted((name, other), key=len)
    is_shuffled = sorted(short) == sorted(long)
    return is_shuffled or any(long[:place] + long[place + 1 :] == short for place in range(len(long)))


def suggest_options(called: C) -> C:
    """Decorate a function or a class that takes options by name: the error for an unknown option suggests another.

    Args:
        called: the function, plain or `async`, or the class.
    """
    if isinstance(called, type):
        name = "__new__" if "__new__" in vars(called) else "__init__"
        wrapped = _wrap(getattr(called, name))
        setattr(called, name, staticmethod(wrapped) if name == "__new__" else wrapped)
        return called
    return cast("C", _wrap(called))


def _wrap(called: Callable[..., Any]) -> Callable[..., object]:
    if iscoroutinefunction(called):

        @wraps(called)
        async def call_async(*args: object, **options: object) -> object:
            try:
                running = called(*args, **options)
            except TypeError as error:
                raise _explain(error, called, args, options) from None
            return await running

        return call_async

    @wraps(called)
    def call(*args: object, **options: object) -> object:
        try:
            return called(*args, **options)
        except TypeError as error:
            if (explained := _explain(error, called, args, options)) is error:
                raise
            raise explained from None

    return call


def _explain(
    error: TypeError, called: Callable[..., object], args: Sequence[object], options: Mapping[str, object]
) -> TypeError:
    """Return the error for the first option that a function does not have, or for values that lack their names.

    Returns the error itself when the arguments are right.
    """
    parameters = signature(called).parameters
    label = _find_label(called, args)
    unknown = sorted(options.keys() - parameters.keys())
    if any(each.kind is each.VAR_KEYWORD for each in parameters.values()):  # others may be right: not what is missing
        missing = [name for name in list(parameters)[len(args) :] if name in _list_required(parameters)]
        unknown = [name for name in unknown if find_closest(name, missing) is not None]
    if unknown:
        return TypeError(describe_unknown_option(label, unknown[0], parameters))
    if any(each.kind is each.VAR_POSITIONAL for each in parameters.values()):
        return error
    positional = [name for name, each in parameters.items() if each.kind is each.POSITIONAL_OR_KEYWORD]
    return TypeError(_describe_positions(label, positional, parameters)) if len(args) > len(positional) else error


def _list_required(parameters: Mapping[str, Parameter]) -> list[str]:
    """Return the names of the arguments without a default, those that can be given by position first."""
    named = (Parameter.POSITIONAL_OR_KEYWORD, Parameter.KEYWORD_ONLY)
    return [name for name, each in parameters.items() if each.kind in named and each.default is each.empty]


def _find_label(called: Callable[..., object], args: Sequence[object]) -> str:
    """Return the name of a function, and of the class whose constructor it is."""
    if called.__name__ not in ("__init__", "__new__"):
        return called.__name__
    kind = args[0] if isinstance(args[0], type) else type(args[0])
    return kind.__name__


def describe_unknown_option(label: str, name: str, parameters: Iterable[str]) -> str:
    """Return the message about an option that a function does not have, with the option that was meant."""
    options = sorted({*parameters} - {"self", "cls", "input", "objects"})
    hint = did_you_mean(name, options) or _ADVICE.get(name) or f" Its options are {', '.join(options)}."
    return f"{label}() has no option {name!r}.{hint}"


def _describe_positions(label: str, positional: Sequence[str], parameters: Mapping[str, Parameter]) -> str:
    places = " and ".join(repr(name) for name in positional if name not in ("self", "cls"))
    needed = [
        name for name, each in parameters.items() if each.kind is each.KEYWORD_ONLY and each.default is each.empty
    ]
    named = ", ".join(f"{name}=..." for name in needed) or "NAME=VALUE"
    return (
        f"{label}() takes {f'only {places}' if places else 'nothing'} by position. Write the rest with names: {named}"
    )


def _normalize(name: str) -> str:
    return re.sub(r"[^a-z0-9]", "", name.lower())
