"""Phases whose run is interrupted after any number of steps of the event loop, and continued by another worker."""

from __future__ import annotations

import asyncio
from contextlib import suppress

import pytest

from tactician import Ensemble, Phase, PhaseReview, Platform, RunContext, RunStatus, Task, Workflow
from tactician.ensemble import (
    EnsembleResult,
    PhaseReviewed,
    PhaseReviewError,
    TaskCompleted,
    TaskFailedError,
    TaskInput,
)
from tactician.events import Event
from tactician.platform import Worker
from tactician.testing import ScriptedModel
from tests.ensemble.support import durable
from tests.support.stored import JsonStore, load_record


class Diary:
    """What has run, and what was completed and decided, before or after the interruption."""

    def __init__(self) -> None:
        self.events: list[Event] = []
        self.runs: list[str] = []

    def task(self, name: str) -> Task:
        """Return a task that takes some steps of the event loop, and counts its attempts in its output."""

        async def handle(task: TaskInput) -> str:
            seen = " ".join(output.raw for output in task.context_outputs)
            attempt = 1 if task.revision is None else task.revision.attempt
            self.runs.append(output := f"{name}{attempt}({seen})")
            for _ in range(3):
                await asyncio.sleep(0)
            return output

        return Task(f"Do {name}", id=name, handler=handle)

    @property
    def completed(self) -> list[str]:
        """The outputs of completed tasks."""
        return [event.raw for event in self.events if isinstance(event, TaskCompleted) and event.task_id in "abcde"]

    @property
    def decisions(self) -> list[tuple[str, int]]:
        """The phases and attempts that were decided on."""
        return [(event.phase, event.attempt) for event in self.events if isinstance(event, PhaseReviewed)]


async def check_twice(task: TaskInput) -> str:
    """Approve the second attempt."""
    await asyncio.sleep(0)
    return "APPROVE" if "b2" in task.context_outputs[-1].raw else "RETRY: again"


async def check_source(task: TaskInput) -> str:
    """Ask for another attempt at the phase before."""
    await asyncio.sleep(0)
    return "APPROVE" if "a2" in task.context_outputs[-1].raw else "RETRY_PREDECESSOR: better data"


def build(diary: Diary) -> Ensemble:
    """Return four phases: data, a part that runs twice, one that needs the data again, and the end."""
    data = Phase("data", [diary.task("a")])
    part = Phase("part", [diary.task("b")], after=[data], review=PhaseReview(check_twice))
    again = Phase("again", [diary.task("c"), diary.task("d")], after=[data], review=PhaseReview(check_source))
    return Ensemble("E", phases=[data, part, again, Phase("end", [diary.task("e")], after=[part, again])])


async def test_without_an_interruption_the_parts_run_in_their_order() -> None:
    result = await build(Diary()).run({}, context=durable())
    assert result.raw == "e1(b2(a1()) d1(c1(a2())))"


@pytest.mark.parametrize("steps", range(0, 300, 6))
async def test_no_completed_task_runs_again_and_no_decision_is_made_twice(steps: int) -> None:
    store, before, after = JsonStore(), Diary(), Diary()
    first = Platform(models=ScriptedModel(), store=store, on_event=before.events.append).register(build(before))
    run_id = await first.enqueue("E", {})
    working = asyncio.create_task(Worker(first).run_once())
    for _ in range(steps):
        await asyncio.sleep(0)
    working.cancel()
    with suppress(asyncio.CancelledError):
        await working
    second = Platform(models=ScriptedModel(), store=store, on_event=after.events.append).register(build(after))
    await Worker(second).run_once()
    record = await load_record(store, run_id)
    assert record.status is RunStatus.COMPLETED
    assert record.header.output is not None
    assert record.header.output.endswith("d1(c1(a2())))")
    assert not set(before.completed) & set(after.runs), "a completed task has run again"
    decided = before.decisions + after.decisions
    assert len(set(decided)) == len(decided), "a decision was made twice"
    assert set(decided) <= {("again", 1), ("again", 2), ("part", 1), ("part", 2)}


class TestFailuresBesideSomebodyWhoIsAsked:
    """A phase that has failed while another one waits for a person."""

    @staticmethod
    def build(runs: list[str], fails: bool) -> Ensemble:
        """Return a phase that fails, or is rejected, beside one that waits."""

        def fail(task: TaskInput) -> str:
            runs.append(task.task_id)
            if fails:
                raise LookupError("gone")
            return "made up"

        bad = Phase("bad", [Task("b", handler=fail)], review=PhaseReview(lambda t: "REJECT: made up"))
        good = Phase("good", [Task("g", handler=lambda t: "good")], review=PhaseReview.by_person())
        last = Phase("last", [Task("l", handler=lambda t: "last")], after=[bad])
        return Ensemble("E", phases=[bad, good, last], workflow=Workflow.PARALLEL, on_error="continue")

    @pytest.mark.parametrize("fails", [True, False])
    async def test_it_does_not_run_again_when_the_run_continues(self, fails: bool) -> None:
        runs: list[str] = []
        ensemble, context = self.build(runs, fails), durable()
        waiting = await ensemble.run(context=context)
        assert waiting.status is RunStatus.WAITING
        with pytest.raises(TaskFailedError, match="gone" if fails else "made up") as caught:
            await ensemble.resume(waiting.run_id, {waiting.pending[0].id: "APPROVE"}, context=context)
        assert (runs, caught.value.completed["g"].raw) == (["b"], "good")
        assert caught.value.skipped == {"l": "the phase 'bad' before it failed"}
        assert isinstance(caught.value, PhaseReviewError) is not fails

    @pytest.mark.parametrize("answer", ["well", None], ids=["no decision", "an error"])
    async def test_a_review_that_failed_does_not_run_again_when_the_run_continues(self, answer: str | None) -> None:
        calls: list[TaskInput] = []

        def review(task: TaskInput) -> str:
            calls.append(task)
            if answer is None:
                raise LookupError("gone")
            return answer

        def build() -> Ensemble:
            bad = Phase("bad", [Task("b", handler=lambda t: "b")], review=PhaseReview(review))
            good = Phase("good", [Task("g", handler=lambda t: "good")], review=PhaseReview.by_person())
            return Ensemble("E", phases=[bad, good], on_error="continue")

        context = durable()
        waiting = await build().run(context=context)
        asked, answers = len(calls), {waiting.pending[0].id: "APPROVE"}
        with pytest.raises(PhaseReviewError, match="is no decision" if answer else "LookupError: gone") as caught:
            await build().resume(waiting.run_id, answers, context=context)
        assert len(calls) == asked
        assert list(caught.value.failed) == ["Review the phase 'bad'"]
        assert caught.value.completed.keys() == {"b", "g"}

    async def test_a_fail_fast_run_fails_at_once(self) -> None:
        ensemble = self.build([], True)
        ensemble.on_error = "fail_fast"
        with pytest.raises(TaskFailedError) as caught:
            await ensemble.run(context=durable())
        assert caught.value.skipped["g"] == "its phase waits for an answer"


async def test_the_attempts_and_durations_are_the_same_after_a_restart() -> None:
    context = RunContext.over(ScriptedModel(), store=JsonStore())
    first = Phase("first", [Diary().task("b")], review=PhaseReview(check_twice))
    asked = Phase("asked", [Task("x", handler=lambda t: "x")], after=[first], review=PhaseReview.by_person())
    ensemble = Ensemble("E", phases=[first, asked])
    waiting = await ensemble.run(context=context)
    result = await ensemble.resume(waiting.run_id, {waiting.pending[0].id: "APPROVE"}, context=context)
    assert isinstance(result, EnsembleResult)
    history = result.phase_outputs["first"].review.history
    assert [(attempt.number, attempt.raw) for attempt in history] == [(1, "b1()"), (2, "b2()")]
    assert result.phase_outputs["first"].duration <= result.duration
