"""Search for the JSON of an answer in what a model writes around it: prose, thoughts, code fences."""

from __future__ import annotations

import json
import re
from collections import deque
from collections.abc import Iterator
from itertools import chain
from typing import Final

_BEGINNINGS: Final = re.compile(r'\{(?=\s*["}])|\[(?=\s*[\[\]{"\-0-9tfn])')
_FENCE: Final = "```"
_END_OF_THOUGHTS: Final = "</think>"
_DECODER: Final = json.JSONDecoder()
_WORK: Final = 16
"""How many times the length of the text may be read in vain, so that hostile texts take linear time."""
_COST_OF_DEPTH: Final = 10_000
_LINE_SPEED: Final = 32
_MOST_VALUES: Final = 64


def find_json_values(text: str) -> Iterator[str]:
    """Yield the JSON objects and arrays in a text, none of which is inside another, the likeliest answer first.

    Thoughts do not count. Values in code fences come before others, later values before earlier ones, as an answer
    follows its explanation, and empty ones come last. The time is linear, and the number of values is bounded.
    """
    answer = text.rpartition(_END_OF_THOUGHTS)[2]
    region = answer if answer.strip() else text
    fenced = chain.from_iterable(reversed(_find_values(part)) for part in reversed(region.split(_FENCE)[1::2]))
    values = dict.fromkeys(chain(fenced, reversed(_find_values(region))))
    yield from sorted(values, key=_is_empty)


def _find_values(text: str) -> deque[str]:
    """Return the last values in a text, in their order."""
    values: deque[str] = deque(maxlen=_MOST_VALUES)
    place, work = 0, _WORK * len(text)
    while work > 0 and (begin := _BEGINNINGS.search(text, place)) is not None:
        start = begin.start()
        try:
            _, place = _DECODER.raw_decode(text, start)
        except json.JSONDecodeError as error:
            work -= error.pos - start + error.pos // _LINE_SPEED  # the error has counted all lines before
            place = start + 1
        except (RecursionError, ValueError):  # too deep, or a number of thousands of digits
            work -= _COST_OF_DEPTH
            place = start + 1
        else:
            values.append(text[start:place])
    return values


def _is_empty(value: str) -> bool:
    return not value[1:-1].strip()
