"""What a declared method may look like, besides its parameters."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Coroutine, Iterator, Mapping
from typing import Any, get_args, get_origin

from tactician.agents.declarations import ACTION, CONDITION, COST
from tactician.agents.declaring.hints import members_of, written


def is_generator(function: Callable[..., object]) -> bool:
    """Whether it yields, and so gives no object that could be waited for."""
    return inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function)


def wrong_shape(function: Callable[..., object], hints: Mapping[str, object]) -> Iterator[str]:
    """What is wrong with what a method says that it gives: a sentence for each mistake."""
    if is_generator(function):
        yield "it yields, and has to give one thing; return it"
    elif hasattr(function, ACTION):
        return
    elif hasattr(function, CONDITION) and not _returns(hints, bool):
        yield f"it returns {written(hints['return'])}, and a condition holds or not; write `-> bool`"
    elif hasattr(function, COST) and not _returns(hints, int, float):
        yield f"it returns {written(hints['return'])}, and a cost is a number; write `-> float`"


def _returns(hints: Mapping[str, object], *kinds: type) -> bool:
    hint = hints.get("return", kinds[0])
    if get_origin(hint) in (Awaitable, Coroutine):
        hint = get_args(hint)[-1]
    if hint in (Any, object):  # it does not say
        return True
    return all(isinstance(one, type) and issubclass(one, kinds) for one in members_of(hint))
