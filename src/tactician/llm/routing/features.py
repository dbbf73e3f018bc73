"""Features that several models have in common."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import fields
from datetime import date
from functools import reduce

from tactician.llm.model import Features

_NAMES = tuple(field.name for field in fields(Features))


def intersect_features(features: Iterable[Features]) -> Features:
    """Return the features that all of these have; none, if there are no models."""
    distinct = list(dict.fromkeys(features))
    if not distinct:
        return Features()
    return Features(**{name: reduce(_intersect, (getattr(features, name) for features in distinct)) for name in _NAMES})


def _intersect(first: object, second: object) -> object:
    if isinstance(first, bool) and isinstance(second, bool):
        return first and second
    if isinstance(first, frozenset) and isinstance(second, frozenset):
        return first & second
    if isinstance(first, date) and isinstance(second, date):
        return min(first, second)
    if isinstance(first, int | float) and isinstance(second, int | float):
        return min(first, second)
    return first if first == second else None
