"""Kinds of arguments: what settings must be, since a program without a type checker may pass anything."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from reprlib import repr as shorten_repr
from typing import Final, NamedTuple, TypeVar, cast

from tactician.errors import Problem

T = TypeVar("T")


class ArgumentKind(NamedTuple):
    """Kind of an argument.

    Attributes:
        meaning: the kind, for messages.
        accepts: function that returns whether a value is of the kind.
        create_stand_in: function of a wrong value as text. Its result takes the place of the value, so that the checks
            of other arguments can go on.
    """

    meaning: str
    accepts: Callable[[object], bool]
    create_stand_in: Callable[[str], object]

    def or_none(self) -> ArgumentKind:
        """Return the kind whose values may be `None`."""
        return self._replace(accepts=lambda value: value is None or self.accepts(value))


def replace_strangers(target: object, kinds: Mapping[str, ArgumentKind]) -> Iterator[tuple[str, str]]:
    """Yield the place and the description of each attribute that is of another kind, and replace its value.

    Args:
        target: the object, which may be frozen.
        kinds: the kinds of its attributes, by name.
    """
    for name, kind in kinds.items():
        if not kind.accepts(value := getattr(target, name)):
            shown = shorten_repr(value)
            object.__setattr__(target, name, kind.create_stand_in(shown))
            yield name, f"{shown} is not {kind.meaning}"


def list_problems(strangers: Iterable[tuple[str, str]], mistakes: Iterable[tuple[str, str]]) -> list[Problem]:
    """Return mistakes as problems. An argument that is of another kind has no other mistake.

    Args:
        strangers: the arguments of another kind, as `replace_strangers` yields them.
        mistakes: the places and the descriptions of all other mistakes.
    """
    problems = list(strangers)
    places = {place for place, _ in problems}
    others = [(place, message) for place, message in mistakes if place not in places]
    return [Problem(place, message) for place, message in (*problems, *others)]


def as_list(values: Iterable[T]) -> tuple[T, ...]:
    """Return the values of a list. What is not a list stays as it is, for a message about it."""
    given: object = values
    is_list = isinstance(given, Iterable) and not isinstance(given, str | bytes | Mapping)
    return tuple(values) if is_list else cast("tuple[T, ...]", values)


def is_count(value: object) -> bool:
    """Return whether a value is a whole number."""
    return isinstance(value, int) and not isinstance(value, bool)


def _is_number(value: object) -> bool:
    return is_count(value) or isinstance(value, float)


def _is_list(value: object) -> bool:
    return isinstance(value, tuple)


def _is_list_of_texts(value: object) -> bool:
    return isinstance(value, tuple) and all(isinstance(item, str) for item in value)


TEXT: Final = ArgumentKind("a text", lambda value: isinstance(value, str), lambda shown: shown)
COUNT: Final = ArgumentKind("a whole number", is_count, lambda _: 1)
NUMBER: Final = ArgumentKind("a number", _is_number, lambda _: 1)
LIST: Final = ArgumentKind("a list: write it in brackets, as in [...]", _is_list, lambda _: ())
TEXTS: Final = ArgumentKind("a list of texts", _is_list_of_texts, lambda _: ())
MAPPING: Final = ArgumentKind("a mapping", lambda value: isinstance(value, Mapping), lambda _: {})
