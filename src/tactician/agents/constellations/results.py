"""What constellations make of the results of those who work in them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TypeVar

from tactician.llm import text_of
from tactician.runs import Input, RunContext, Runnable, RunResult, RunStatus, messages_of
from tactician.tools import as_text

T = TypeVar("T")


def as_own(
    result: RunResult[T], context: RunContext, related: Sequence[RunResult[object]] | None = None
) -> RunResult[T]:
    """The result of a run as that of the run around it, which used what all runs inside it did."""
    others = result.related if related is None else tuple(related)
    return replace(result, tally=context.tally, run_id=context.run_id, related=others)


def failure(input: Input, context: RunContext) -> RunResult[None]:
    """What a run that fails has done so far."""
    return RunResult(None, RunStatus.FAILED, tuple(messages_of(input)), context.tally, run_id=context.run_id)


def contribution(who: Runnable, result: RunResult[object]) -> str:
    """What somebody said, as others read it."""
    return f"[{who.name}]: {as_text(result.output)}"


def briefing(input: Input, contributions: Iterable[str]) -> str:
    """What was asked and what everybody said, for the one who makes an answer of it."""
    said = "\n\n".join(contributions)
    return f"This was asked:\n{text_of(messages_of(input))}\n\nThis was said:\n{said}\n\nMake one answer of it."
