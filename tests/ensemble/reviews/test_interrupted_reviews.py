"""Reviews of runs that are interrupted after any number of steps of the event loop: no completed step is done again."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from contextlib import suppress
from itertools import pairwise

import pytest

from tactician import Ensemble, Platform, Review, ReviewDecision, RunStatus, Task, guardrails
from tactician.ensemble import TaskInput
from tactician.guardrails import GuardrailResult
from tactician.platform import Worker
from tactician.runs.progress.record import RunRecord
from tactician.testing import ScriptedModel
from tests.support.stored import JsonStore, load_record

ANSWERS = {
    "write/review after 1": ReviewDecision.retry("bolder"),
    "write/review after 2": ReviewDecision.edit("final"),
    "check/review before": ReviewDecision.approve(),
    "publish/review after 1": ReviewDecision.exit_early(),
}


class Office:
    """Programs on one store, of which every other one is interrupted."""

    def __init__(self) -> None:
        self.store = JsonStore()
        self.done: list[str] = []

    def ensemble(self) -> Ensemble:
        """An ensemble whose tasks are sent back, edited, approved and ended early."""

        def check(output: str) -> GuardrailResult:
            self.done.append(f"guardrail {output}")
            return guardrails.passed()

        after = Review.after(timeout=0)
        return Ensemble(
            "E",
            [
                Task("Write", id="write", handler=self.write, review=after, output_guardrails=[check]),
                Task("Check", id="check", handler=self.read, review=Review.before(timeout=0)),
                Task("Publish", id="publish", handler=self.read, review=after),
                Task("Archive", id="archive", handler=self.read),
            ],
        )

    async def write(self, task: TaskInput) -> str:
        """Write a draft, in several steps of the event loop."""
        await asyncio.sleep(0)
        attempt = 1 if task.revision is None else task.revision.attempt
        self.done.append(f"draft {attempt}")
        return f"draft {attempt}"

    async def read(self, task: TaskInput) -> str:
        """Say what the task does with what it reads."""
        await asyncio.sleep(0)
        self.done.append(task.task_id)
        return f"{task.task_id}({task.context_outputs[0].raw})"

    def open(self) -> Platform:
        """The platform of another program."""
        return Platform(models=ScriptedModel(), store=self.store).register(self.ensemble())

    def find_work(self, record: RunRecord) -> Coroutine[object, object, object]:
        """What the next program does: answer, or continue."""
        for request in record.header.pending if record.status is RunStatus.WAITING else ():
            answer = next(answer for key, answer in ANSWERS.items() if request.id.endswith(key))
            return self.open().respond(record.run_id, request.id, answer)
        return Worker(self.open()).run_once()

    async def run(self, steps: int) -> RunRecord:
        """Run to the end; every other program is interrupted after some steps."""
        run_id = await self.open().enqueue("E", {})
        for number in range(40):
            record = await load_record(self.store, run_id)
            if record.status.is_terminal:
                return record
            working = asyncio.ensure_future(self.find_work(record))
            for _ in range(steps if number % 2 == 0 else 10_000):
                await asyncio.sleep(0)
                if working.done():
                    break
            working.cancel()
            with suppress(asyncio.CancelledError):
                await working
        raise AssertionError("the run does not end")


@pytest.mark.parametrize("steps", range(0, 90, 3))
async def test_a_retry_an_edit_and_an_early_exit_are_done_once(steps: int) -> None:
    office = Office()
    record = await office.run(steps)
    assert (record.status, record.header.output) == (RunStatus.COMPLETED, "publish(check(final))")
    assert "archive" not in office.done
    firsts = list(dict.fromkeys(office.done))
    assert firsts == ["draft 1", "guardrail draft 1", "draft 2", "guardrail draft 2", "check", "publish"]
    for earlier, later in pairwise(firsts):
        last = len(office.done) - 1 - office.done[::-1].index(earlier)
        assert last < office.done.index(later), f"{earlier} ran again although {later} had begun"
