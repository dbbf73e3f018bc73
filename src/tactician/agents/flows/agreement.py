"""`consensus`: several sources answer the same, and what enough of them say is the answer."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Sequence
from typing import TypeVar

from pydantic_core import to_json

from tactician.agents.constellations.results import failure
from tactician.agents.flows.gathering import ScatterGather
from tactician.agents.flows.steps import StepLike, label_of, step_of
from tactician.errors import DeclarationError, NoConsensusError
from tactician.runs import RunContext
from tactician.tools import as_text, caller_namespace

T = TypeVar("T")


def consensus(
    returning: type[T],
    sources: Sequence[StepLike[T]],
    *,
    agree: StepLike[T] | None = None,
    quorum: int | None = None,
    key: Callable[[T], Hashable] | None = None,
    max_concurrency: int | None = None,
    tolerate: int = 0,
    name: str | None = None,
    description: str | None = None,
) -> ScatterGather[T]:
    """Asks several sources at once, and gives what they agree on: `scatter_gather` that consolidates by agreement.

    The answer is the one that at least `quorum` sources give; of equal ones the first. When no answer has so many, or
    two have equally many, the run fails and says who said what: a tie is no consensus.

    Args:
        returning: what each source gives, and the result is.
        sources: functions of the input, which they may leave out, or any Runnables.
        agree: makes the result of the list of answers, instead of counting them.
        quorum: how many have to agree; more than half of all sources by default.
        key: what has to be the same for two answers to be the same; all of them by default.
        max_concurrency: how many work at once; all, when `None`.
        tolerate: how many may fail. They count as sources that do not agree.
        name: how others call it; that of the type by default.
        description: what it is for.

    Raises:
        DeclarationError: when there is no source, or a number makes no sense.
    """
    label = label_of(name, returning)
    namespace = caller_namespace(1)
    needed = len(sources) // 2 + 1 if quorum is None else quorum
    if sources and not 1 <= needed <= len(sources):
        raise DeclarationError(label, ["quorum has to be from 1 to the number of sources"])
    numbered = enumerate(sources, start=1)
    steps = [step_of(source, returning, f"{label} {number}", namespace, most=1) for number, source in numbered]

    def vote(answers: Sequence[T], given: object, run: RunContext) -> T:
        keys = list(map(key or to_json, answers))
        if (agreed := _agreed(keys, needed)) is not None:
            return answers[agreed]
        said = "; ".join(f"{votes} x {as_text(answers[keys.index(one)])}" for one, votes in Counter(keys).most_common())
        told = f"{label}: no answer has {needed} votes, and more than any other: {said}"
        raise NoConsensusError(told, failure(given, run))

    last = step_of(vote if agree is None else agree, returning, "agree", namespace, most=2)
    told = description or f"{label}, as {len(steps)} sources agree on it"
    return ScatterGather(steps, last, returning, label, told, max_concurrency=max_concurrency, tolerate=tolerate)


def _agreed(keys: Sequence[Hashable], needed: int) -> int | None:
    """The first of the answers that won; `None` when none has."""
    (winner, votes), *others = Counter(keys).most_common()
    is_tie = any(other == votes for _, other in others)
    return None if is_tie or votes < needed else keys.index(winner)
