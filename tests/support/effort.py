"""How much is tried by tests that have a long form: a little in `make test`, much in `make soak`."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Final, TypeVar

import pytest
from hypothesis import HealthCheck, settings

F = TypeVar("F", bound=Callable[..., object])


def _read_number(name: str, usual: int) -> int:
    return int(os.environ.get(f"TACTICIAN_{name}", usual))


KILLS: Final = _read_number("KILLS", 4)
"""How often a worker is killed in runs of each kind, and in runs of all kinds."""
FREEZES: Final = _read_number("FREEZES", 1)
"""How often a worker is frozen in runs of each kind."""
SEED: Final = _read_number("SEED", 7)
"""What the moments at which workers are killed depend on."""
CONVERSATIONS: Final = _read_number("CONVERSATIONS", 60)
"""How many conversations there are with two service processes."""
EFFORT: Final = _read_number("EFFORT", 1)
"""How many times as many examples as usual are tried, and how many times as long what grows is."""
FUZZED: Final = 500 if EFFORT == 1 else 10_000
"""How many random inputs a parser gets, times `EFFORT`: 5,000 and more for all together, or a million."""


def examples(usual: int, *suppressed: HealthCheck) -> Callable[[F], F]:
    """Declare a test with so many random examples, and with more of them in its long form."""
    chosen = settings(max_examples=usual * EFFORT, suppress_health_check=suppressed)
    return lambda test: pytest.mark.soak(chosen(test))
