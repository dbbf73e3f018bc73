"""Reviews of a task come before the memory is written and the reflection fires."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tactician import (
    Ensemble,
    InProcessReflections,
    Platform,
    Reflection,
    Review,
    ReviewDecision,
    RunContext,
    RunStatus,
    Scope,
    Task,
)
from tactician.ensemble import ExitReason, ReflectionInput
from tactician.ensemble.learning.scoped_memory import ScopedMemory
from tactician.runs import PendingRequest
from tactician.stores import MemoryStore
from tactician.testing import ScriptedModel
from tests.ensemble.learning.support import over
from tests.ensemble.support import prompt_of
from tests.support.stored import JsonStore


class Desk:
    """A task with a review, a memory and a reflection, and what lasts longer than a program."""

    def __init__(self, *answers: str) -> None:
        self.model = ScriptedModel(*answers)
        self.memory = ScopedMemory(MemoryStore(), {"project": Scope()})
        self.reflections = InProcessReflections()
        self.reflected: list[str] = []
        self.runs = JsonStore()

    def ensemble(self, decisions: Iterator[ReviewDecision] | None = None) -> Ensemble:
        def strategy(review: ReflectionInput) -> str:
            self.reflected.append(review.output)
            return "Be short."

        def decide(request: PendingRequest) -> ReviewDecision:
            assert decisions is not None
            return next(decisions)

        reflection = Reflection(strategy=strategy)
        task = Task("Write", id="write", memory=["project"], review=Review.after(), reflect=reflection)
        reviewer = None if decisions is None else decide
        return Ensemble("E", [task], reviewer=reviewer, memory=self.memory, reflections=self.reflections)

    def platform(self) -> Platform:
        """The platform of another program."""
        return Platform(models=self.model, store=self.runs).register(self.ensemble())

    async def remembered(self) -> list[str]:
        return [entry.content for entry in await self.memory.entries("project")]


async def review(desk: Desk, *decisions: ReviewDecision) -> ExitReason | None:
    """Run the task, whose reviewer decides so."""
    result = await desk.ensemble(iter(decisions)).run(context=RunContext.over(desk.model))
    return result.exit_reason


async def test_if_the_review_asks_for_a_retry_nothing_is_kept_before_an_output_is_accepted() -> None:
    desk = Desk("first", "second")
    await review(desk, ReviewDecision.retry("Shorter."), ReviewDecision.approve())
    assert desk.reflected == ["second"]
    assert await desk.remembered() == ["second"]


async def test_of_an_edited_output_only_the_edited_text_is_kept() -> None:
    desk = Desk("draft")
    await review(desk, ReviewDecision.edit("edited"))
    assert desk.reflected == ["edited"]
    assert await desk.remembered() == ["edited"]


async def test_an_output_with_which_the_ensemble_exits_early_is_not_kept() -> None:
    desk = Desk("draft")
    assert await review(desk, ReviewDecision.exit_early()) is ExitReason.EXIT_EARLY
    assert (desk.reflected, await desk.remembered()) == ([], [])


@pytest.mark.parametrize("retries", [0, 1])
async def test_a_run_that_waits_days_reads_what_it_first_saw_and_keeps_its_output_once(retries: int) -> None:
    desk = Desk(*["draft"] * (retries + 1))
    await desk.memory.add("project", "early", context=over())
    async with desk.platform() as platform:
        waiting = await desk.ensemble().run(context=platform.context())
    assert waiting.status is RunStatus.WAITING
    await desk.memory.add("project", "late", context=over())
    for decision in [*[ReviewDecision.retry("Again.")] * retries, ReviewDecision.approve()]:
        async with desk.platform() as platform:
            (request,) = waiting.pending
            waiting = await platform.respond(waiting.run_id, request.id, decision)  # type: ignore[assignment]
    assert waiting.status is RunStatus.COMPLETED
    assert all("early" in prompt_of(desk.model, call) for call in range(retries + 1))
    assert not any("late" in prompt_of(desk.model, call) for call in range(retries + 1))
    assert (await desk.remembered()).count("draft") == 1
    assert desk.reflected == ["draft"]
